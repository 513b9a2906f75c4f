import { existsSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { AmbientAgentConfig, Environment, EnvironmentRepository } from '@runyard/client'
import { askChoice } from './ask.ts'
import { currentProcess } from './current-process.ts'
import { type GitResult, runGit } from './git.ts'
import { oneLine } from './one-line.ts'
import { nameRepository, writeRepository } from './repository-option.ts'
import type { Session } from './session.ts'

/** Where the checkout remembers what was answered; git keeps it out of what is committed. */
const SETTING = 'runyard.runIn'
/** Before the name of an environment. */
const ENVIRONMENT = 'environment '
const REPOSITORY = 'repository'
const NOTHING = 'nothing'

/** The git checkout that a run is started in, and how the service reaches its repository. */
export interface OwnRepository {
  repository: EnvironmentRepository
  /** What of the checkout the run will not have. */
  missing: string[]
}

export type Place = Pick<AmbientAgentConfig, 'environment_id' | 'repositories'>

/**
 * Where a run works that names neither environment nor repository: in a git checkout, what its person answered once. A script is
 * asked nothing, and gets no repository that it did not name.
 */
export async function choosePlace(session: Session): Promise<Place> {
  const top = await findTop()
  if (top === null) return {}
  const remembered = await read(top, ['config', '--get', SETTING])
  if (remembered === NOTHING) return {}
  if (remembered?.startsWith(ENVIRONMENT)) {
    const environment_id = remembered.slice(ENVIRONMENT.length)
    note(session, `In the environment ${environment_id}, as you chose for this folder. --no-repo: in none.`)
    return { environment_id }
  }
  const own = await findOwn(session, top)
  if (own === null) return {}
  if (remembered === REPOSITORY) return useRepository(session, own)
  const { output } = session
  if (!output.interactive) {
    if (output.format === 'text')
      note(
        session,
        `The run has no repository. This folder's: --repo ${oneLine(writeRepository(forFlag(own.repository)))}`,
      )
    return {}
  }
  return ask(session, top, own)
}

/** False where git cannot write it. */
const remember = async (top: string, answer: string): Promise<boolean> =>
  (await runGit(['config', '--local', SETTING, answer], { directory: top })).code === 0

/** Has runs that are started in this checkout work in an environment, as if its person had chosen so. False where git cannot write it. */
export const rememberEnvironment = (top: string, name: string) => remember(top, `${ENVIRONMENT}${name}`)

/** The top folder of the checkout here; null where there is none. */
export async function findTop(): Promise<string | null> {
  const directory = currentProcess().cwd()
  return isBelowGit(directory) ? read(directory, ['rev-parse', '--show-toplevel']) : null
}

async function ask(session: Session, top: string, own: OwnRepository): Promise<Place> {
  const { client } = session
  const environments = (await Array.fromAsync(client.environments.list({ sort_by: 'name' }))).filter(
    ({ config }) => isIn(config, own.repository),
  )
  const answer = await askChoice<string>('Where should the run work? This folder remembers the answer.', [
    ...environments.map(({ config }) => ({
      value: `${ENVIRONMENT}${config.name}`,
      label: `In the environment ${oneLine(config.name)}`,
      hint: 'it has this repository',
    })),
    { value: REPOSITORY, label: `In ${oneLine(describeRepository(own.repository))}` },
    { value: NOTHING, label: 'In no repository' },
  ])
  if (answer === null) return {}
  if (!(await remember(top, answer))) note(session, 'This folder cannot remember it: git config failed.')
  if (answer === NOTHING) return {}
  return answer === REPOSITORY
    ? useRepository(session, own)
    : { environment_id: answer.slice(ENVIRONMENT.length) }
}

function useRepository(session: Session, { repository, missing }: OwnRepository): Place {
  note(session, `In ${describeRepository(repository)}, the repository of this folder. --no-repo: in none.`)
  for (const each of missing) session.output.note(session.output.colors.yellow(`! ${oneLine(each)}`))
  return { repositories: [repository] }
}

const note = ({ output }: Session, text: string): void => output.note(output.colors.dim(oneLine(text)))

/** A path here is one for --repo everywhere, so it is given as the folder it is. */
const forFlag = (repository: EnvironmentRepository): EnvironmentRepository =>
  repository.local_path === undefined ? repository : { local_path: repository.local_path }

const describeRepository = ({ url, local_path, ref }: EnvironmentRepository): string =>
  `${url === undefined ? local_path : nameRepository(url)}${ref === undefined ? '' : ` at ${ref}`}`

/** Whether an environment has this repository, at whatever ref. */
function isIn(
  { repositories = [], github_repos = [] }: Environment['config'],
  { url, local_path }: EnvironmentRepository,
): boolean {
  const urls = github_repos.map(({ owner, repo }) => `github.com/${owner}/${repo}`)
  return url === undefined
    ? repositories.some((each) => each.local_path === local_path)
    : [...urls, ...repositories.flatMap((each) => each.url ?? [])].some(
        (each) => nameRepository(each) === nameRepository(url),
      )
}

/** A look at folders alone: most commands are called where there is no checkout, and starting git takes longer. */
function isBelowGit(start: string): boolean {
  for (let directory = start; ; directory = dirname(directory)) {
    if (existsSync(join(directory, '.git'))) return true
    if (dirname(directory) === directory) return false
  }
}

/** How the service gets at what is checked out at `top`; null: it cannot. */
export async function findOwn(session: Session, top: string): Promise<OwnRepository | null> {
  const [branch, uncommitted, head] = await Promise.all([
    read(top, ['symbolic-ref', '--quiet', '--short', 'HEAD']),
    read(top, ['status', '--porcelain', '--untracked-files=no']),
    read(top, ['rev-parse', '--verify', '--quiet', 'HEAD']),
  ])
  // Nothing was ever committed.
  if (head === null) return null
  const missing = uncommitted ? ['Changes that are not committed are not in the run.'] : []
  if (isOpenedHere(session, top)) return { repository: { local_path: top, ref: branch ?? head }, missing }
  const remote = await findRemote(top, branch)
  if (remote === null) return null
  const written = await read(top, ['remote', 'get-url', remote])
  const url = written === null ? null : withoutUser(written)
  // A folder, or an address that no other machine has.
  if (url === null || /^file:/i.test(url) || !/^(?:[a-z][a-z\d+.-]*:\/\/|[^/:]+:)/i.test(url)) return null
  const pushed = await findPushed(top, { remote, branch, head })
  return {
    repository: { url, ...(pushed.ref === undefined ? {} : { ref: pushed.ref }) },
    missing: [...missing, ...pushed.missing],
  }
}

/** `runyard dev` opens the repositories of the folder that it was started in, and leaves its file there. */
function isOpenedHere({ connection }: Session, top: string): boolean {
  const { file } = connection.base_url
  if (file === undefined || !file.endsWith(join('.runyard', 'client.json'))) return false
  const served = realpathSync(dirname(dirname(file)))
  return served === top || top.startsWith(join(served, '/'))
}

/** Some write their token into the address, or have git put it there: it goes nowhere, and is not shown. */
function withoutUser(address: string): string {
  const url = URL.parse(address)
  if (!url || !/^https?:$/.test(url.protocol) || !(url.username || url.password)) return address
  url.username = ''
  url.password = ''
  return url.href
}

async function findRemote(top: string, branch: string | null): Promise<string | null> {
  const own = branch === null ? null : await read(top, ['config', '--get', `branch.${branch}.remote`])
  if (own !== null && own !== '.') return own
  const remotes = (await read(top, ['remote']))?.split('\n').filter(Boolean) ?? []
  return remotes.includes('origin') ? 'origin' : remotes.length === 1 ? (remotes[0] ?? null) : null
}

/** What of the checkout its remote has: the branch or the commit, and what is missing there. */
async function findPushed(
  top: string,
  { remote, branch, head }: { remote: string; branch: string | null; head: string },
): Promise<{ ref?: string; missing: string[] }> {
  if (branch === null) {
    const has = await read(top, ['branch', '--remotes', '--contains', head])
    return has
      ? { ref: head, missing: [] }
      : { missing: ['This commit is not pushed: the run begins at the default branch.'] }
  }
  const merge = await read(top, ['config', '--get', `branch.${branch}.merge`])
  const ref = merge?.replace(/^refs\/heads\//, '') ?? branch
  const ahead = await read(top, ['rev-list', '--count', `refs/remotes/${remote}/${ref}..HEAD`])
  if (ahead === null)
    return { missing: [`The branch ${branch} is not pushed: the run begins at the default branch.`] }
  const count = Number(ahead)
  return {
    ref,
    missing:
      count > 0
        ? [`${count} ${count === 1 ? 'commit is' : 'commits are'} not pushed, and not in the run.`]
        : [],
  }
}

/** What git prints; null where it has nothing to say, or is not there. */
async function read(directory: string, args: string[]): Promise<string | null> {
  const { code, stdout } = await runGit(args, { directory }).catch(
    (): Pick<GitResult, 'code' | 'stdout'> => ({ code: 1, stdout: Buffer.of() }),
  )
  return code === 0 ? stdout.toString().trim() : null
}
