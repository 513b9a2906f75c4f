import { randomUUID } from 'node:crypto'
import { collect } from '../collect.ts'
import { clip } from '../cut-text.ts'
import type { Turn } from '../harness.ts'

const LOOK_MS = 5_000
const MAX_CHARACTERS = 600
/** `a &`, and neither `a && b`, `2>&1`, `&> file` nor `|&`. One in quotes costs a look. */
const LEAVES = /(?<![&<>|\\])&(?![&>])/
const ADVICE = 'For what is to go on beside your work set background.'

export interface Leaving {
  /** The command, which writes down at its end what it leaves running. */
  command: string
  /** What became of that, for the agent; `null` where it left nothing. `timed_out`: the call was killed at its limit. */
  tell: (turn: Turn, timed_out: boolean) => Promise<string | null>
}

/**
 * A shell command that may leave something running with `&`. What becomes of that is different from sandbox to sandbox: it ends with
 * the call, lives on, or holds the call open since it has its output. `null`: it leaves nothing.
 */
export function watchLeft(command: string): Leaving | null {
  if (!LEAVES.test(command)) return null
  const file = `/tmp/.runyard-left-${randomUUID()}`
  const note = `{ runyard_code=$?; jobs -l > ${file}; (exit "$runyard_code"); } 2> /dev/null`
  // Where nothing follows a line that goes on, bash takes what is behind the word for a part of it all the same.
  const whole = `${command}\n${command.endsWith('\\') ? '\n' : ''}`
  return {
    // A word of its own: a last backslash or a document without an end would take what follows it.
    command: `eval '${whole.replaceAll("'", `'\\''`)}'\n${note}`,
    async tell(turn, timed_out) {
      const { stdout } = await collect(turn, { command: look(file), cwd: '/', timeout_ms: LOOK_MS })
      const [alive = [], ended = []] = stdout.toString().split('\0').map(jobsOf)
      const show = (jobs: readonly string[]) => clip(jobs.join(', '), MAX_CHARACTERS, turn.mask)
      if (alive.length > 0)
        return `still running: ${show(alive)}. Nobody reads what it prints; end it with kill. ${ADVICE}`
      if (ended.length === 0) return null
      return timed_out
        ? `the command itself was done, but what it left running held its output until both were killed: ${show(ended)}. ${ADVICE}`
        : `ended together with this call: ${show(ended)}. ${ADVICE}`
    },
  }
}

/** Those that live, a NUL, and the others. */
const look = (file: string): string => `
alive=''; ended=''
while IFS= read -r line; do
  pid=$(printf '%s\\n' "$line" | sed -n 's/^\\[[0-9]*\\] *[-+]* *\\([0-9][0-9]*\\) .*/\\1/p')
  [ "$pid" ] || continue
  if kill -0 "$pid" 2> /dev/null && ! grep -qs '^State:[[:space:]]*Z' "/proc/$pid/status"; then alive="$alive$line
"; else ended="$ended$line
"; fi
done 2> /dev/null < ${file}
rm -f ${file}
printf '%s\\0%s' "$alive" "$ended"`

/** A line of `jobs -l`: number, mark, process, state, command. */
const jobsOf = (lines: string): string[] =>
  lines.split('\n').flatMap((line) => {
    const [, pid, what] = /^\[\d+\]\s*[-+]?\s*(\d+)\s+Running\s+(.*)$/.exec(line) ?? []
    if (pid === undefined || what === undefined) return []
    // A plain sh does not say what it is.
    const name = what.replace(/\s*&$/, '')
    return [name === '' ? `process ${pid}` : `${name} (process ${pid})`]
  })
