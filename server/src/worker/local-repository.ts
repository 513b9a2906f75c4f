import { spawn } from 'node:child_process'
import { realpath } from 'node:fs/promises'
import { dirname, resolve, sep } from 'node:path'
import { PassThrough, type Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { SetupFailed } from './setup-step.ts'

/**
 * The real path of a repository with commits, itself and its git directory below the real folder that the operator opened.
 * Throws `SetupFailed`.
 */
export async function resolveLocal(
  local_path: string,
  local_repos: string | undefined,
  signal: AbortSignal,
): Promise<string> {
  if (!local_repos)
    throw new SetupFailed('Local repositories are not open here: the operator sets RUNYARD_LOCAL_REPOS.')
  const root = await realpath(local_repos)
  const requireBelow = (path: string) => {
    if (path !== root && !path.startsWith(root.endsWith(sep) ? root : root + sep))
      throw new SetupFailed(`The local repository ${local_path} is not below RUNYARD_LOCAL_REPOS.`)
  }
  const path = await realpath(resolve(root, local_path)).catch(() => {
    throw new SetupFailed(`There is no local repository at ${local_path}.`)
  })
  requireBelow(path)
  // A file or link named `.git` may say that the repository is elsewhere.
  const found = readGit(
    path,
    ['rev-parse', '--path-format=absolute', '--git-dir', '--git-common-dir'],
    signal,
  )
  const directories = await Promise.all([text(found.stdout), found.failure])
  if (directories[1]) throw new SetupFailed(`${local_path} is no git repository that can be read.`)
  for (const directory of directories[0].trim().split('\n')) requireBelow(await realpath(directory))
  const head = readGit(path, ['rev-parse', '--quiet', '--verify', 'HEAD^{commit}'], signal)
  head.stdout.resume()
  if (await head.failure)
    throw new SetupFailed(`The local repository ${local_path} has no commits at its HEAD.`)
  return path
}

/** The repository's branches and tags, and what its HEAD says, as a bundle. */
export const bundleRepository = (path: string, signal: AbortSignal): GitReading =>
  readGit(path, ['bundle', 'create', '--quiet', '-', 'HEAD', '--branches', '--tags'], signal)

interface GitReading {
  stdout: Readable
  /** Why it failed; `null` when it did not. */
  failure: Promise<string | null>
}

/**
 * Git as an ordinary user that may read every file and write none, with the repository's hooks off and no way to fetch:
 * the repository's own configuration is the only foreign input.
 */
function readGit(path: string, args: readonly string[], signal: AbortSignal): GitReading {
  const settings = [
    'safe.directory=*',
    'core.hooksPath=/dev/null',
    'core.fsmonitor=false',
    'protocol.allow=never',
  ].flatMap((setting) => ['-c', setting])
  const asOrdinary = process.getuid?.() === 0 ? READ_ONLY_USER : []
  const [command = 'git', ...rest] = [...asOrdinary, 'git', ...settings, '-C', path, ...args]
  const child = spawn(command, rest, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH,
      LC_ALL: 'C',
      GIT_NO_LAZY_FETCH: '1',
      GIT_TERMINAL_PROMPT: '0',
      // A folder inside a repository is not that repository.
      GIT_CEILING_DIRECTORIES: dirname(path),
      HOME: '/nonexistent',
    },
    signal,
  })
  // Node throws away what an ended child printed before somebody reads it, and our reader may come late.
  const stdout = child.stdout.pipe(new PassThrough())
  const said = text(child.stderr)
  const failure = new Promise<string | null>((done) => {
    child.once('error', (error) => done(`git could not be started: ${error.message}`))
    child.once('close', async (code) => {
      const reason = (await said.catch(() => '')).trim().slice(-1_000)
      done(
        code === 0 ? null : `The local repository could not be read: ${reason || `git ended with ${code}`}`,
      )
    })
  })
  return { stdout, failure }
}

const ONLY_READING = '-all,+dac_read_search'
const READ_ONLY_USER = [
  ...['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups', '--no-new-privs'],
  ...['--inh-caps', ONLY_READING, '--ambient-caps', ONLY_READING, '--bounding-set', ONLY_READING],
  // access(2) asks for the real user, whose capabilities count only with this; git finds no repository without it.
  ...['--securebits', '+no_setuid_fixup'],
]
