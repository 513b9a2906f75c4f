import { spawn } from 'node:child_process'
import { realpath } from 'node:fs/promises'
import { basename, join, resolve, sep } from 'node:path'
import { text } from 'node:stream/consumers'
import type { EnvironmentConfig, EnvironmentRepository } from '../contract/environment.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import { SetupFailed, type SetupSteps } from './setup-step.ts'

/** All repositories of an environment; `github_repos` is the wire format's short form. */
export const repositoriesOf = (config: EnvironmentConfig): EnvironmentRepository[] => [
  ...(config.github_repos ?? []).map(({ owner, repo }) => ({
    url: `https://github.com/${owner}/${repo}.git`,
  })),
  ...(config.repositories ?? []),
]

/** Folder below `/workspace`. */
export const directoryOf = (repository: EnvironmentRepository): string => {
  if (repository.directory) return repository.directory
  const path = repository.url ? new URL(repository.url).pathname : (repository.local_path ?? '')
  const name = basename(path.replace(/\/+$/, ''))
    .replace(/\.git$/, '')
    .replace(/[^A-Za-z0-9._-]/g, '-')
    .replace(/^[.-]+/, '')
  return name || 'repository'
}

/** Brings one repository into the workspace. All git work on what a stranger wrote happens inside the sandbox. */
export async function fetchRepository(options: {
  repository: EnvironmentRepository
  sandbox: Sandbox
  steps: SetupSteps
  signal: AbortSignal
  local_repos: string | undefined
}): Promise<void> {
  const { repository, sandbox, steps, signal } = options
  const env = { REF: repository.ref ?? '', DIR: directoryOf(repository) }
  if (repository.url) {
    const depth = repository.depth ?? 1
    await steps.exec('clone', sandbox, {
      name: repository.url,
      command: CLONE_URL,
      env: {
        ...env,
        URL: repository.url,
        DEPTH: depth === 0 ? '' : String(depth),
        GIT_ALLOW_PROTOCOL: 'https',
      },
      signal,
    })
    return
  }
  const path = await resolveLocal(repository.local_path ?? '', options.local_repos)
  const bundle = bundleRepository(path, signal)
  try {
    await steps.exec('clone', sandbox, {
      name: repository.local_path ?? path,
      command: CLONE_BUNDLE,
      env,
      stdin: bundle.stdout,
      signal,
    })
  } catch (error) {
    // A clone of half a bundle says little; what stopped the bundle says why.
    const failure = await bundle.failure
    throw failure ? new SetupFailed(failure) : error
  }
  const failure = await bundle.failure
  if (failure) throw new SetupFailed(failure)
}

// Values come by the environment, never as part of the command, and after --end-of-options.
const CLONE_URL = `set -e
case "$REF" in
  *[!0-9a-f]*|'') pinned= ;;
  *) [ \${#REF} -eq 40 ] && pinned=1 || pinned= ;;
esac
if [ -n "$pinned" ]; then
  git init --quiet -- "$DIR" && cd -- "$DIR"
  git remote add origin "$URL"
  git fetch --quiet \${DEPTH:+--depth "$DEPTH"} --end-of-options origin "$REF"
  git checkout --quiet --detach FETCH_HEAD
else
  git clone --quiet \${DEPTH:+--depth "$DEPTH"} \${REF:+--branch "$REF"} --end-of-options "$URL" "$DIR"
fi`

const CLONE_BUNDLE = `set -e
bundle=$(mktemp "$PWD/.bundle-XXXXXX")
trap 'rm -f "$bundle"' EXIT
cat > "$bundle"
git clone --quiet --no-checkout --end-of-options "$bundle" "$DIR"
cd -- "$DIR"
head=$(git symbolic-ref --quiet --short HEAD || true)
for branch in $(git for-each-ref --format='%(refname:lstrip=3)' refs/remotes/origin); do
  [ "$branch" = HEAD ] || [ "$branch" = "$head" ] || git branch --quiet --no-track -- "$branch" "refs/remotes/origin/$branch"
done
git remote remove origin
if [ -n "$REF" ]; then git checkout --quiet "$REF" --; else git checkout --quiet HEAD --; fi`

/** The real path must lie below the real folder that the operator opened. */
async function resolveLocal(local_path: string, local_repos: string | undefined): Promise<string> {
  if (!local_repos)
    throw new SetupFailed('Local repositories are not open here: the operator sets RUNYARD_LOCAL_REPOS.')
  const root = await realpath(local_repos)
  const refused = new SetupFailed(`The local repository ${local_path} is not below RUNYARD_LOCAL_REPOS.`)
  const path = await realpath(resolve(root, local_path)).catch(() => {
    throw new SetupFailed(`There is no local repository at ${local_path}.`)
  })
  if (path !== root && !path.startsWith(root.endsWith(sep) ? root : root + sep)) throw refused
  return path
}

/**
 * The repository's branches and tags as a bundle, made by git as an ordinary user that may read every file and write
 * none, with the repository's hooks off and no way to fetch: its own configuration is the only foreign input.
 */
function bundleRepository(path: string, signal: AbortSignal) {
  const git = [
    'git',
    ...[
      '-c',
      'safe.directory=*',
      '-c',
      'core.hooksPath=/dev/null',
      '-c',
      'core.fsmonitor=false',
      '-c',
      'protocol.allow=never',
    ],
    ...['-C', path, 'bundle', 'create', '--quiet', '-', 'HEAD', '--branches', '--tags'],
  ]
  const asOrdinary = process.getuid?.() === 0 ? READ_ONLY_USER : []
  const [command = 'git', ...args] = [...asOrdinary, ...git]
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH,
      LC_ALL: 'C',
      GIT_NO_LAZY_FETCH: '1',
      GIT_TERMINAL_PROMPT: '0',
      HOME: join(sep, 'nonexistent'),
    },
    signal,
  })
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
  return { stdout: child.stdout, failure }
}

const READ_ONLY_USER = [
  ...['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups', '--no-new-privs'],
  ...[
    '--inh-caps',
    '-all,+dac_read_search',
    '--ambient-caps',
    '-all,+dac_read_search',
    '--bounding-set',
    '-all,+dac_read_search',
  ],
]
