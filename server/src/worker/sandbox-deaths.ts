import type { ExecExit, ExecHandle, ExecOptions, Sandbox } from '../sandbox/sandbox.ts'

/**
 * The same sandbox, whose commands count as aborted when they failed or were killed and `isInterruption` says that it was not
 * their own doing.
 */
export function judgeDeaths(sandbox: Sandbox, isInterruption: (exit: ExecExit) => Promise<boolean>): Sandbox {
  const judge = async (exit: ExecExit): Promise<ExecExit> => {
    if (exit.code === 0 || exit.timed_out || exit.aborted || !(await isInterruption(exit))) return exit
    return { ...exit, code: null, signal: exit.signal ?? 'SIGKILL', aborted: true }
  }
  return {
    ...sandbox,
    exec(options: ExecOptions): ExecHandle {
      const handle = sandbox.exec(options)
      const exit = handle.exit.then(judge)
      // A caller who only reads the output must not bring the process down by an unhandled rejection.
      exit.catch(() => {})
      return { ...handle, exit }
    },
  }
}
