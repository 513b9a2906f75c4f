import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'

/** Installs anew only when the file that says what has changed since; `stamp` is where that is noted. `false` when it failed. */
export function installOnce(
  { wanted, stamp }: { wanted: string; stamp: string },
  install: () => boolean,
): boolean {
  const digest = createHash('sha256').update(readFileSync(wanted)).digest('hex')
  if (readStamp(stamp) === digest) return true
  if (!install()) return false
  writeFileSync(stamp, digest)
  return true
}

function readStamp(stamp: string): string | null {
  try {
    return readFileSync(stamp, 'utf8')
  } catch {
    return null
  }
}
