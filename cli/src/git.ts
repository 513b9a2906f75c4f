import { spawn } from 'node:child_process'
import { buffer } from 'node:stream/consumers'
import { cleanText } from './clean-text.ts'
import { currentProcess } from './current-process.ts'
import { CommandFailure } from './failure.ts'
import { oneLine } from './one-line.ts'

export interface GitResult {
  code: number | null
  stdout: Buffer
  /** In English. */
  stderr: string
}

export interface GitOptions {
  directory: string
  input?: Uint8Array | undefined
  environment?: NodeJS.ProcessEnv | undefined
}

/** What of the user's settings would change what is done: scripts of theirs, and how a patch is read. */
const SETTINGS = ['core.hooksPath=/dev/null', 'apply.ignoreWhitespace=no', 'rerere.enabled=false']

/** Runs the user's git to its end; it asks nobody, runs no hooks, and takes no lock that it can do without. */
export async function runGit(args: readonly string[], options: GitOptions): Promise<GitResult> {
  const child = spawn('git', [...SETTINGS.flatMap((setting) => ['-c', setting]), ...args], {
    cwd: options.directory,
    env: {
      ...currentProcess().env,
      GIT_TERMINAL_PROMPT: '0',
      GIT_OPTIONAL_LOCKS: '0',
      LC_ALL: 'C',
      ...options.environment,
    },
    stdio: 'pipe',
  })
  const exited = new Promise<number | null>((resolve, reject) => {
    child.once('close', resolve)
    child.once('error', (error: NodeJS.ErrnoException) => reject(error.code === 'ENOENT' ? missing() : error))
  })
  // One that ends before it has read all says why itself.
  child.stdin.on('error', () => {})
  child.stdin.end(options.input ?? '')
  const [code, stdout, stderr] = await Promise.all([exited, buffer(child.stdout), buffer(child.stderr)])
  return { code, stdout, stderr: stderr.toString() }
}

const missing = (): CommandFailure =>
  new CommandFailure('There is no git on this machine, or not in PATH.', {
    hint: 'install git; `runyard diff RUN_ID` needs none',
  })

const SHOWN_REASONS = 3
/** What git says on its way to the reason. */
const ASIDE = /^(?:patch failed: |repository lacks the necessary blob)/

/** Why git did not do it, as one line. */
export function reasonOf({ stderr, code }: GitResult): string {
  const lines = cleanText(stderr).trim().split('\n').map(oneLine)
  const errors = lines.flatMap((line) => /^(?:error|fatal): (.*)$/.exec(line)?.[1] ?? [])
  const reasons = [...new Set(errors.filter((error) => !ASIDE.test(error)))]
  return joinReasons(reasons) || errors.at(-1) || lines.at(-1) || `git ended with ${code}`
}

/** The first few. */
export function joinReasons(reasons: readonly string[]): string {
  const more = reasons.length - SHOWN_REASONS
  return reasons.slice(0, SHOWN_REASONS).join('; ') + (more > 0 ? `; and ${more} more` : '')
}

/** Texts that end with a NUL each (`-z`); names that are no UTF-8 are shown as well as can be. */
export const readNames = (output: Buffer): string[] => output.toString('utf8').split('\0').slice(0, -1)
