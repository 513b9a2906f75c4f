/** What the stand-ins for git hosts have: repositories, tokens and pull requests. */
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, globSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { GIT_ENV, git, makeRepository } from './git.ts'
import { type LfsHost, pointerOf } from './lfs-host.ts'
import { temporaryDirectory } from './service.ts'

/** What a token may do. */
export interface Grant {
  /** Paths in lower case; absent: all. */
  repositories?: string[]
  contents: 'read' | 'write'
  pull_requests: 'none' | 'write'
  /** Milliseconds of the host's clock. */
  expires_at?: number
}

export interface HostedPull {
  repository: string
  number: number
  title: string
  body: string
  head: string
  base: string
  draft: boolean
  open: boolean
  merged_at?: string
  /** In place of what the repository says of it, in the host's words. */
  standing?: string
}

/** A comment on an issue or pull request, or on its code. */
export interface HostedComment {
  id: number
  repository: string
  number: number
  kind: 'issues' | 'pulls'
  /** The comment on code that it replies to. */
  in_reply_to_id?: number
  body: string
  created_at: string
}

export interface GitHostRequest {
  method: string
  /** With the query. */
  path: string
  authorization: string | undefined
  /** Of requests to the API. */
  body: string
}

export interface Answer {
  status: number
  /** A string is sent as it is. */
  body?: unknown
  headers?: Record<string, string>
}

export interface GitHostOptions {
  /** Bare repositories lie below it, as `acme/site.git`. */
  root: string
  kind: 'github' | 'gitlab'
  /** A token that may do everything. */
  token?: string
  tokens?: Record<string, Grant>
  /** A GitHub App that is installed once. */
  app?: {
    app_id: string
    installation_id: string
    /** Whose repositories it is installed in. */
    account: string
    /** PEM. */
    public_key: string
    /** Names of those it is installed in; absent: all. */
    repositories?: string[]
    /** What it was given; absent: writing both. */
    permissions?: Record<string, 'read' | 'write'>
  }
  /** Answers in the host's place; `undefined` leaves it to the host, an `Error` breaks the connection, `silence` leaves it open. */
  interfere?: (request: GitHostRequest) => Answer | Error | 'silence' | undefined
  /** Told what comes on its connections, as it is. */
  onData?: (data: Buffer) => void
  /** The host's clock. */
  now?: () => number
  /** It has Git LFS. */
  lfs?: boolean
}

/** What answers to the API look at. */
export interface GitHostState {
  options: GitHostOptions
  url: string
  grants: Map<string, Grant>
  pulls: HostedPull[]
  comments: HostedComment[]
  now: () => number
  lfs: LfsHost | null
}

/** `null`: the token is none, or none any more. */
export function findGrant({ grants, now }: GitHostState, token: string): Grant | null {
  const grant = grants.get(token)
  return grant && (grant.expires_at ?? Number.POSITIVE_INFINITY) > now() ? grant : null
}

export const bearerOf = ({ authorization }: GitHostRequest): string =>
  /^(?:bearer|token) (.+)$/i.exec(authorization ?? '')?.[1] ?? ''

export const mayReach = ({ repositories }: Grant, path: string): boolean =>
  repositories?.includes(path.toLowerCase()) ?? true

/** The folder of a repository; `null` where there is none. */
export function findRepository({ options }: GitHostState, path: string): string | null {
  if (path.split('/').some((part) => part === '' || part === '.' || part === '..')) return null
  const folder = join(options.root, `${path}.git`)
  return existsSync(folder) ? folder : null
}

/** Paths of all that the token reaches. */
export const listReachable = ({ options }: GitHostState, grant: Grant): string[] =>
  globSync('*/*.git', { cwd: options.root })
    .map((folder) => folder.replace(/\.git$/, ''))
    .filter((path) => mayReach(grant, path))

/** Its branches by name, those that begin so. */
export const branchesOf = (folder: string, prefix = ''): string[] =>
  git(folder, 'for-each-ref', '--format=%(refname:lstrip=2)', 'refs/heads')
    .split('\n')
    .filter((name) => name.startsWith(prefix))

/** The commit of a branch; `null` where there is none. */
export function headOf(folder: string, branch: string): string | null {
  try {
    return git(folder, 'rev-parse', '--verify', '--quiet', `refs/heads/${branch}^{commit}`)
  } catch {
    return null
  }
}

export const defaultBranchOf = (folder: string): string => git(folder, 'symbolic-ref', '--short', 'HEAD')

/** Whether git itself could not merge it. */
export function conflicts(folder: string, { head, base }: HostedPull): boolean {
  try {
    git(folder, 'merge-tree', '--write-tree', base, head)
    return false
  } catch {
    return true
  }
}

/** Merges as hosts do, in a bare repository; the commit that the base is at then. */
export function mergeBranches(
  folder: string,
  { head, base, title, number }: HostedPull,
  method: string,
): string {
  const tree = git(folder, 'merge-tree', '--write-tree', base, head)
  const parents = method === 'merge' ? ['-p', base, '-p', head] : ['-p', base]
  const author = ['-c', 'user.name=The host', '-c', 'user.email=host@example.com']
  const commit = git(folder, ...author, 'commit-tree', tree, ...parents, '-m', `${title} (#${number})`)
  git(folder, 'update-ref', `refs/heads/${base}`, commit)
  return commit
}

let template: string | undefined

/** A copy of one that is made once a process, of fifteen processes of git. */
function makeTemplate(): string {
  const directory = temporaryDirectory('hosted-template')
  const made = join(directory, 'made')
  makeRepository(made)
  const bare = join(directory, 'bare')
  execFileSync('git', ['clone', '--quiet', '--bare', made, bare], { env: GIT_ENV, stdio: 'ignore' })
  return bare
}

/** Adds a bare repository below `root` with the branches of `makeRepository`. Returns its folder. */
export function addHostedRepository(root: string, path: string): string {
  const folder = join(root, `${path}.git`)
  template ??= makeTemplate()
  cpSync(template, folder, { recursive: true })
  return folder
}

/** Commits a file of Git LFS to `main` of a bare repository; its content is where the host keeps large files. */
export function addLargeFile(folder: string, name: string, content: Buffer): void {
  const work = `${folder}.work`
  execFileSync('git', ['clone', '--quiet', folder, work], { env: GIT_ENV, stdio: 'ignore' })
  writeFileSync(join(work, '.gitattributes'), '*.bin filter=lfs diff=lfs merge=lfs -text\n')
  writeFileSync(join(work, name), pointerOf(content))
  git(work, 'add', '--all')
  git(work, 'commit', '--quiet', '-m', 'large')
  git(work, 'push', '--quiet', 'origin', 'main')
}
