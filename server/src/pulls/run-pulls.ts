import { setTimeout as wait } from 'node:timers/promises'
import { RateLimiterMemory } from 'rate-limiter-flexible'
import type { Actor } from '../contract/actor.ts'
import { AppError, type ErrorCode } from '../contract/error.ts'
import type { MergeMethod, MergePullRequestRequest, PullRequestItem } from '../contract/pull-request.ts'
import type { CheckedFetch } from '../gateway/checked-fetch.ts'
import type { GitCredential, GitHostKind } from '../gateway/gateway.ts'
import { findCredential } from '../gateway/git-credential.ts'
import { kindOf } from '../gateway/git-host.ts'
import { type FailureKind, GitHostFailure } from '../gateway/git-host-api.ts'
import { openTokens } from '../gateway/git-tokens.ts'
import type { Merging, PullState } from '../gateway/merging.ts'
import { openMerging } from '../gateway/open-merging.ts'
import type { Keyring } from '../sealing/keyring.ts'
import { appendAudit } from '../store/audit-log.ts'
import type { Store } from '../store/db.ts'
import { requireGrantsFor } from '../store/grants.ts'
import { isPrincipalActive, orphaned } from '../store/principals.ts'
import { type Push, readPushes, recordPullStatus } from '../store/pushes.ts'
import type { RunRow } from '../store/runs.ts'
import { type PullAccess, readPullAccess } from './pull-access.ts'
import { RecentAnswers } from './recent-answers.ts'

/** A page that many look at asks its host this often. */
const RECENT_MS = 10_000
/** Somebody waits for the answer. */
const LIMIT_MS = 8_000
/** While a host is finding out whether it can be merged. */
const LOOKS = 4
const LOOK_MS = 1_000

export interface RunPullsOptions {
  store: Store
  keyring: Keyring
  fetch: CheckedFetch
  git_hosts: Record<string, GitHostKind>
  /** What the operator gives to every environment. */
  git_credential: GitCredential | null
}

type Pull = Push & { pull_request: NonNullable<Push['pull_request']> }

/** The pull requests that runs opened, as they stand at their hosts. */
export class RunPulls {
  readonly #options: RunPullsOptions
  /** A page that is left open asks each minute: that is not an entry of the audit log each time. */
  readonly #noted = new RateLimiterMemory({ points: 1, duration: 3_600 })
  readonly #recent = new RecentAnswers<PullRequestItem[]>(RECENT_MS)

  constructor(options: RunPullsOptions) {
    this.#options = options
  }

  /** Those of one run. One whose host cannot be asked is `unknown`. */
  async list(run: RunRow): Promise<PullRequestItem[]> {
    const pulls = await this.#read(run)
    if (pulls.length === 0) return []
    return this.#recent.get(keyOf(run, pulls), async () => {
      const access = await readPullAccess(this.#options, run)
      return Promise.all(pulls.map((pull) => this.#describe(run, pull, access)))
    })
  }

  /**
   * Merges one, for whoever may go on with the run. Throws `conflict` where it cannot be merged as it is,
   * `feature_not_available` where the environment does not have it merged here, and what else its host refuses.
   */
  async merge(run: RunRow, actor: Actor, wish: MergePullRequestRequest): Promise<PullRequestItem> {
    const { store } = this.#options
    // As for follow-ups.
    if (!(await isPrincipalActive(store.db, run.principal_id))) throw orphaned()
    await requireGrantsFor(store.db, actor, run)
    const pulls = await this.#read(run)
    const pull = choose(pulls, wish?.url)
    const access = await readPullAccess(this.#options, run)
    const { merge_method } = access
    if (merge_method === null)
      throw new AppError(
        'feature_not_available',
        'The environment of the run does not have its pull requests merged here: set its merge_method.',
      )
    try {
      const merging = await this.#open(run, pull, access, actor)
      const state = await settle(
        merging,
        { commit: wish?.commit ?? pull.commit, base: wish?.base },
        merge_method,
      )
      const merged = { ...state, state: 'merged', mergeable: null, note: null } as const
      await this.#keep(run, pull, merged)
      return toItem(pull, access, merged)
    } catch (error) {
      if (error instanceof GitHostFailure) throw toAppError(error)
      throw error
    } finally {
      this.#recent.forget(keyOf(run, pulls))
    }
  }

  async #read({ run_id }: RunRow): Promise<Pull[]> {
    const pushes = await readPushes(this.#options.store.db, run_id)
    return [...pushes.values()].flatMap((push) => {
      const { pull_request } = push
      return pull_request ? [{ ...push, pull_request }] : []
    })
  }

  async #describe(run: RunRow, pull: Pull, access: PullAccess): Promise<PullRequestItem> {
    try {
      const state = await (await this.#open(run, pull, access, null)).read()
      await this.#keep(run, pull, state)
      return toItem(pull, access, state)
    } catch (error) {
      if (!(error instanceof GitHostFailure)) throw error
      return { ...place(pull), state: 'unknown', note: error.message }
    }
  }

  /** What the run itself says of it from now on. */
  async #keep({ principal_id }: RunRow, { url }: Pull, { state, is_draft }: PullState): Promise<void> {
    const status = state === 'open' && is_draft ? 'draft' : state
    await recordPullStatus(this.#options.store.db, url, status, { principal_id })
  }

  /** `merged_by`: who has it merged; `null`: it is only read. */
  async #open(
    run: RunRow,
    { repository, pull_request }: Pull,
    { credentials, names }: PullAccess,
    merged_by: Actor | null,
  ): Promise<Merging> {
    const { fetch, git_hosts } = this.#options
    const [host = '', ...rest] = repository.split('/')
    const path = rest.join('/')
    const credential = findCredential(credentials, host, path)
    if (!credential)
      throw new GitHostFailure('refused', `No secret of the environment gives access to ${repository}.`)
    if (merged_by && credential.read_only)
      throw new GitHostFailure('refused', `${credential.name} is read-only.`)
    const kind = kindOf(host, git_hosts)
    if (!kind)
      throw new GitHostFailure(
        'other',
        `What ${host} is, GitHub or GitLab, is said by RUNYARD_GIT_HOSTS; without it its pull requests cannot be asked for.`,
      )
    if (names.includes(credential.name)) await this.#note(run, credential.name, merged_by)
    const token = await openTokens(fetch, { limit_ms: LIMIT_MS }).tokenOf(credential, path)
    const { number } = pull_request
    const { name: credential_name } = credential
    return openMerging({ fetch, kind, host, path, token, credential_name, number, limit_ms: LIMIT_MS })
  }

  /** That a secret is used, in the audit log. */
  async #note({ run_id, principal_id }: RunRow, name: string, merged_by: Actor | null): Promise<void> {
    if (!merged_by && !(await this.#noted.consume(`${run_id} ${name}`).catch(() => null))) return
    const detail = `${name}, to ${merged_by ? 'merge a pull request' : 'read pull requests'}`
    const by = merged_by?.principal_id ?? principal_id
    await appendAudit(this.#options.store.db, [
      { action: 'useSecrets', target: run_id, via: 'service', principal_id: by, detail },
    ])
  }
}

/** What was found out before the run pushed again says nothing of what it pushed. */
const keyOf = ({ run_id }: RunRow, pulls: readonly Pull[]): string =>
  [run_id, ...pulls.map(({ url, commit }) => `${url} ${commit}`)].join(' ')

function choose(pulls: readonly Pull[], url: string | undefined): Pull {
  const [first, ...more] = url === undefined ? pulls : pulls.filter((pull) => pull.url === url)
  if (!first)
    throw new AppError(
      'resource_not_found',
      url === undefined
        ? 'The run has opened no pull request.'
        : 'The run has opened no pull request at this address.',
    )
  if (more.length > 0)
    throw new AppError('invalid_request', 'url: the run has opened several pull requests; say which one.')
  return first
}

/** Merges the commit unless that is done; how it stood before. */
async function settle(
  merging: Merging,
  { commit, base }: { commit: string; base?: string | undefined },
  method: MergeMethod,
): Promise<PullState> {
  let state = await merging.read()
  for (let look = 1; look < LOOKS && state.state === 'open' && state.mergeable === null; look++) {
    await wait(LOOK_MS)
    state = await merging.read()
  }
  if (state.state === 'merged') return state
  if (state.state === 'closed') throw refuse('It is closed, and was not merged.')
  if (state.head_commit !== commit)
    throw refuse(
      `It has been pushed to since: its branch is at ${state.head_commit.slice(0, 12)}, not ${commit.slice(0, 12)}. Look at it again.`,
    )
  if (base !== undefined && base !== state.base)
    throw refuse(`It is to be merged into ${state.base} by now, not ${base}. Look at it again.`)
  if (state.mergeable === null) throw refuse('Its host is still finding out whether it can be merged.', true)
  if (!state.mergeable) throw refuse(state.note ?? 'Its host says that it cannot be merged.')
  try {
    await merging.merge(method, commit)
  } catch (error) {
    // The answer may have been lost, or somebody else was quicker.
    const after = await merging.read().catch(() => null)
    if (after?.state === 'merged') return after
    throw error
  }
  return state
}

const refuse = (detail: string, retryable = false): AppError =>
  new AppError('conflict', detail, { retryable })

const CODES: Record<FailureKind, ErrorCode> = {
  ...{ unreachable: 'resource_unavailable', limited: 'resource_unavailable' },
  ...{ refused: 'integration_not_configured', not_found: 'integration_not_configured' },
  ...{ no_difference: 'conflict', other: 'conflict' },
}

const toAppError = ({ failure, message }: GitHostFailure): AppError => {
  const code = CODES[failure]
  return new AppError(code, message, code === 'conflict' ? { retryable: false } : {})
}

const place = ({ url, repository, pull_request, branch, commit }: Pull) => ({
  ...{ url, repository, number: pull_request.number, branch, commit },
})

function toItem(pull: Pull, { merge_method }: PullAccess, state: PullState): PullRequestItem {
  const is_open = state.state === 'open'
  const moved =
    is_open && state.head_commit !== pull.commit ? 'It has been pushed to since the run pushed.' : null
  const note = [state.note, moved].filter((part) => part !== null).join(' ')
  return {
    ...place(pull),
    ...{ state: state.state, title: state.title, base: state.base, is_draft: state.is_draft },
    head_commit: state.head_commit,
    ...(is_open ? { mergeable: state.mergeable } : {}),
    ...(note ? { note } : {}),
    ...(state.merged_at ? { merged_at: state.merged_at } : {}),
    ...(is_open && merge_method ? { merge_method } : {}),
  }
}
