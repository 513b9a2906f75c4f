import { RateLimiterMemory } from 'rate-limiter-flexible'
import type { Actor } from '../contract/actor.ts'
import { AppError } from '../contract/error.ts'
import type {
  HostRepository,
  ListBranchesQuery,
  ListBranchesResponse,
  ListRepositoriesQuery,
  ListRepositoriesResponse,
} from '../contract/repository.ts'
import { readRepositoryName, toHttps } from '../contract/repository-address.ts'
import { gitCredentialOf } from '../contract/secret.ts'
import type { GitCredential } from '../gateway/gateway.ts'
import { findCredential } from '../gateway/git-credential.ts'
import { kindOf } from '../gateway/git-host.ts'
import { type GitHostApi, GitHostFailure, openGitHostApi } from '../gateway/git-host-api.ts'
import { type FoundRepository, listBranches, listRepositories } from '../gateway/git-repositories.ts'
import { openTokens } from '../gateway/git-tokens.ts'
import { openSecret } from '../sealing/secret-value.ts'
import { appendAudit } from '../store/audit-log.ts'
import { readGitSecrets } from '../store/secrets.ts'
import { RecentAnswers } from './recent-answers.ts'
import type { RunPullsOptions } from './run-pulls.ts'

/** Somebody types, and asks with each letter. */
const RECENT_MS = 60_000
const LIMIT_MS = 8_000

/** A credential, and which version of a secret it is; `null`: what the operator gives is none. */
interface Key {
  credential: GitCredential
  version: string | null
}

/** What somebody's git secrets reach at their hosts. Each question asks anew which of them they may use. */
export class HostRepositories {
  readonly #options: RunPullsOptions
  readonly #noted = new RateLimiterMemory({ points: 1, duration: 3_600 })
  readonly #lists = new RecentAnswers<Awaited<ReturnType<typeof listRepositories>> | GitHostFailure>(
    RECENT_MS,
  )
  readonly #branches = new RecentAnswers<Awaited<ReturnType<typeof listBranches>> | GitHostFailure>(RECENT_MS)

  constructor(options: RunPullsOptions) {
    this.#options = options
  }

  async list(
    actor: Actor,
    { query = '', limit = 20 }: ListRepositoriesQuery,
  ): Promise<ListRepositoriesResponse> {
    const notes: string[] = []
    const lists = await Promise.all(
      (await this.#readKeys(actor)).map(async (key) => {
        const { credential } = key
        const found = await this.#lists.get(nameOf(key), () =>
          asData(async () => {
            const { ask, kind } = await this.#open(actor, key, '')
            return listRepositories(ask, { kind, host: credential.host, is_app: credential.app !== null })
          }),
        )
        if (!(found instanceof GitHostFailure)) return { ...found, credential }
        notes.push(found.message)
        return null
      }),
    )
    const wanted = query.trim().toLowerCase()
    const all = new Map<string, HostRepository>()
    for (const found of lists)
      for (const repository of found?.repositories ?? []) {
        const shown = found && view(found.credential, repository)
        if (shown?.url.toLowerCase().includes(wanted) && !all.has(shown.url)) all.set(shown.url, shown)
      }
    return {
      repositories: [...all.values()].slice(0, limit),
      has_more: all.size > limit || lists.some((found) => found?.is_cut === true),
      notes,
    }
  }

  async branches(actor: Actor, { repository, query = '' }: ListBranchesQuery): Promise<ListBranchesResponse> {
    const keys = await this.#readKeys(actor)
    const { host, path } = readRepositoryName(toHttps(repository))
    const nothing = { default_branch: null, branches: [] }
    if (host === null) return { ...nothing, notes: ['Only a repository at a git host has branches to list.'] }
    const credential = findCredential(
      keys.map((key) => key.credential),
      host,
      path,
    )
    const key = keys.find((each) => each.credential === credential)
    if (!key)
      return { ...nothing, notes: [`None of the git secrets that you may use covers ${path} at ${host}.`] }
    const prefix = query.trim()
    const found = await this.#branches.get([nameOf(key), path, prefix].join(' '), () =>
      asData(async () => {
        const { ask, kind } = await this.#open(actor, key, path)
        return listBranches(ask, { kind, host, path, prefix })
      }),
    )
    if (found instanceof GitHostFailure) return { ...nothing, notes: [found.message] }
    return { ...found, notes: [] }
  }

  async #readKeys({ principal_id, role }: Actor): Promise<Key[]> {
    if (role === 'viewer')
      throw new AppError(
        'not_authorized',
        'A key with the role viewer uses no secrets, so it lists no repositories.',
      )
    const { store, keyring, git_credential } = this.#options
    const rows = await readGitSecrets(store.db, principal_id)
    const keys = rows.flatMap((row): Key[] => {
      try {
        const version = `${row.owner_id ?? ''} ${row.name} ${row.version}`
        return row.git
          ? [{ credential: gitCredentialOf(row.name, row.git, openSecret(keyring, row)), version }]
          : []
      } catch {
        // Sealed with a key that this service does not have: as if it were not there.
        return []
      }
    })
    return git_credential ? [...keys, { credential: git_credential, version: null }] : keys
  }

  async #open(
    actor: Actor,
    { credential, version }: Key,
    path: string,
  ): Promise<{ ask: GitHostApi; kind: NonNullable<ReturnType<typeof kindOf>> }> {
    const { fetch, git_hosts } = this.#options
    const { host } = credential
    const kind = kindOf(host, git_hosts)
    if (!kind)
      throw new GitHostFailure('other', `RUNYARD_GIT_HOSTS does not say whether ${host} is GitHub or GitLab.`)
    if (version !== null) await this.#note(actor, credential.name)
    // An App's token is for all that it is installed in only where nothing is to be read but their names.
    const wanted = path === '' ? { wanted: [{ metadata: 'read' }] } : {}
    const token = await openTokens(fetch, { limit_ms: LIMIT_MS, ...wanted }).tokenOf(credential, path)
    return { ask: openGitHostApi({ fetch, kind, host, token, limit_ms: LIMIT_MS }), kind }
  }

  /** That a secret is used, in the audit log; once an hour for each who does. */
  async #note({ principal_id }: Actor, name: string): Promise<void> {
    if (!(await this.#noted.consume(`${principal_id} ${name}`).catch(() => null))) return
    const detail = `${name}, to list repositories and branches`
    await appendAudit(this.#options.store.db, [
      { action: 'useSecrets', target: name, via: 'service', principal_id, detail },
    ])
  }
}

/** What a host does not answer is said, keeps nobody from anything, and is not asked again with the next letter. */
const asData = <T>(ask: () => Promise<T>): Promise<T | GitHostFailure> =>
  ask().catch((error) => {
    if (error instanceof GitHostFailure) return error
    throw error
  })

const nameOf = ({ credential, version }: Key): string => version ?? credential.name

/** One that the secret is not meant for is none. */
function view(credential: GitCredential, { path, ...rest }: FoundRepository): HostRepository | null {
  const { host, name: secret_name } = credential
  if (!findCredential([credential], host, path)) return null
  return { url: `https://${host}/${path}`, name: path, host, secret_name, ...rest }
}
