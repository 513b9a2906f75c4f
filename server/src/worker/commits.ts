import { collectExec, type Sandbox, SandboxFault } from '../sandbox/sandbox.ts'
import type { Commits } from '../store/sandboxes.ts'
import { SetupFailed } from './setup-step.ts'

/** What is checked out in each of these folders of the workspace. */
export async function readCommits(
  sandbox: Sandbox,
  directories: readonly string[],
  signal: AbortSignal,
): Promise<Commits> {
  if (directories.length === 0) return {}
  const { exit, stdout } = await collectExec(
    sandbox.exec({ command: READ_COMMITS, stdin: `${directories.join('\n')}\n`, signal }),
  )
  // Says which of the reasons to stop it was.
  if (exit.aborted) throw new SetupFailed('Looking at the repositories was stopped.')
  const lines = stdout.toString().split('\n')
  if (exit.code !== 0 || lines.length !== directories.length + 1)
    throw new SandboxFault(`Looking at the repositories ended with ${exit.code ?? exit.signal}.`)
  return Object.fromEntries(directories.map((directory, at) => [directory, lines[at] || null]))
}

/** Nothing for a repository that has no commit. */
const READ_COMMITS = `while IFS= read -r DIR; do
  echo "$(git -C "$DIR" rev-parse --verify --quiet 'HEAD^{commit}')"
done`
