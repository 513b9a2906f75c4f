import type { Sandbox } from '../sandbox/sandbox.ts'
import { collectExec } from '../sandbox/sandbox.ts'

const LOOK_MS = 60_000
/** Times of files are as coarse as the kernel's ticks. */
const TICK_SECONDS = 0.02

/** What a look at a workspace found. `stamp`: when it was, in seconds by the sandbox's own clock; null where that cannot be told. */
export interface Look {
  changed: boolean
  stamp: string | null
}

/**
 * Whether anything of the workspace and the home directory changed since an earlier look; of a workspace of which none is
 * known, whether it holds a file. By the times of changes, which nobody can set back. Throws `SandboxFault`.
 */
export async function lookForChanges(
  sandbox: Sandbox,
  { since, signal }: { since: string | null; signal: AbortSignal },
): Promise<Look> {
  const { stdout } = await collectExec(
    sandbox.exec({
      command: LOOK,
      env: { SINCE: since ?? '', HOME_FOLDER: sandbox.home ?? '' },
      timeout_ms: LOOK_MS,
      signal,
    }),
  )
  const [now = '', found] = stdout.toString().split('\n')
  const seconds = /^\d+\.\d{6}/.exec(now)?.[0]
  // What could not be looked at to its end may have changed.
  return {
    changed: found !== 'no',
    stamp: seconds === undefined ? null : (Number(seconds) - TICK_SECONDS).toFixed(6),
  }
}

/** A `find` that cannot compare times of changes finds nothing in its first line either. */
const LOOK = `export LC_ALL=C; date +%s.%N
set -- "$PWD" \${HOME_FOLDER:+"$HOME_FOLDER"}
if [ -n "$SINCE" ]; then
  [ -n "$(find "$PWD" -maxdepth 0 -newerct @0 2>/dev/null)" ] || exit 1
  [ -n "$(find "$@" -xdev -newerct "@$SINCE" -print -quit 2>/dev/null)" ] || echo no
else
  [ -n "$(find "$@" -xdev ! -type d ! -path "$HOME_FOLDER/.gitconfig" -print -quit 2>/dev/null)" ] || echo no
fi`
