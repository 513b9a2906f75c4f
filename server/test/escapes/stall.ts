import { broken, held, type Verdict } from './probe.ts'

/** A busy machine makes everybody wait a little; what freezes the service takes many times this. */
const LIMIT_MS = 3_000
const LOOK_MS = 50
const LOST_MS = 20_000

/** Asks the service again and again whether it lives, and measures its slowest answer. */
export function longestStall(origin: string): { judge(): Promise<Verdict> } {
  let longest = 0
  let looking = true
  const looks = (async () => {
    while (looking) {
      const asked = performance.now()
      await fetch(`${origin}/healthz`, { signal: AbortSignal.timeout(LOST_MS) })
        .then((answer) => answer.text())
        .catch(() => {})
      longest = Math.max(longest, performance.now() - asked)
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
    }
  })()
  return {
    async judge() {
      looking = false
      await looks
      const text = `slowest answer ${Math.round(longest)} ms`
      return longest > LIMIT_MS ? broken(text) : held(text)
    },
  }
}

/** Prints byte after byte, each when the one before has been read, so that each is a piece of its own. */
export const ONE_BY_ONE = `perl -e 'my $left = pack "i", 0; for (1 .. 420_000) { syswrite STDOUT, "x"; do { ioctl STDOUT, 0x541B, $left } while unpack "i", $left }'`
