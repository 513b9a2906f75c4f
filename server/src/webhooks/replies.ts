import type { Logger } from 'pino'
import { AppError } from '../contract/error.ts'
import { gitCredentialOf } from '../contract/secret.ts'
import type { CheckedFetch } from '../gateway/checked-fetch.ts'
import type { GitCredential, GitHostKind } from '../gateway/gateway.ts'
import { GitHostFailure } from '../gateway/git-host-api.ts'
import { type GithubComments, openGithubComments, type PostedComment } from '../gateway/github-comments.ts'
import type { Keyring } from '../sealing/keyring.ts'
import { Mask } from '../sealing/mask.ts'
import { openSecret } from '../sealing/secret-value.ts'
import { appendAudit } from '../store/audit-log.ts'
import type { Store } from '../store/db.ts'
import { readPushes } from '../store/pushes.ts'
import { readSecrets } from '../store/secrets.ts'
import {
  type DueReply,
  handBackReply,
  keepComment,
  markReplyFailed,
  markTold,
  REPLIES_WAIT,
  readAnswerBetween,
  takeReplies,
} from '../store/trigger-replies.ts'
import type { Watch } from '../store/watch.ts'
import { startDraining } from './drain.ts'
import { markOf, wantedOf, writeReply } from './reply-text.ts'

/** Requests at once, of this process. */
const MAX_AT_ONCE = 8
/** Between two tries, in seconds; the last one again and again. */
const PAUSES = [2, 15, 120, 600, 1_800, 3_600]
const MAX_ERROR = 500

export interface ReplyOptions {
  store: Store
  watch: Watch
  keyring: Keyring
  fetch: CheckedFetch
  git_hosts: Record<string, GitHostKind>
  /** What links are made of. */
  public_url: () => string
  log: Logger
}

/** Trying again is of no use. */
class Hopeless extends Error {}

/**
 * Answers on GitHub for triggers, until the function it returns is called. Any process may, several may at once: a comment is looked
 * for before it is made a second time.
 */
export function startReplies(options: ReplyOptions): () => Promise<void> {
  const { store, watch, log } = options
  return startDraining<DueReply>({
    ...{ at_once: MAX_AT_ONCE, what: 'an answer on GitHub', watch, waits: REPLIES_WAIT, log },
    take: (limit) => takeReplies(store.db, limit),
    async send(due, cut) {
      try {
        await tell(options, due, cut)
      } catch (error) {
        if (cut.aborted) return handBackReply(store.db, due)
        const reason = reasonOf(error)
        if (reason === null) throw error
        // Those that failed together are not tried together.
        const pause = (PAUSES[Math.min(due.tries, PAUSES.length) - 1] ?? 0) * (0.8 + 0.4 * Math.random())
        await markReplyFailed(store.db, due, {
          error: reason.slice(0, MAX_ERROR),
          pause_ms: pause * 1_000,
          is_final:
            error instanceof Hopeless || (error instanceof GitHostFailure && error.failure === 'other'),
        })
      }
    },
  })
}

/** What may be shown of a failure; `null`: it is a fault of our own. */
const reasonOf = (error: unknown): string | null =>
  error instanceof GitHostFailure || error instanceof Hopeless || error instanceof AppError
    ? error.message
    : null

async function tell(options: ReplyOptions, due: DueReply, cut: AbortSignal): Promise<void> {
  const { store, public_url, git_hosts } = options
  const wanted = wantedOf(due)
  if (wanted === null || wanted === due.told) return markTold(store.db, due, { told: due.told })
  const credential = await readCredential(options, due)
  const fetch: CheckedFetch = (url, init) => options.fetch(url, { ...init, signal: cut })
  const comments = await openGithubComments(due.thread, { fetch, credential, kinds: git_hosts })
  const body = writeReply(due, {
    link: `${public_url()}/sessions/${due.run_id}`,
    answer: await readAnswerBetween(store.db, due.run_id, [
      due.after_sequence,
      due.end?.sequence ?? due.last_sequence,
    ]),
    pushes: [...(await readPushes(store.db, due.run_id)).values()],
  })
  const mask = await Mask.of([credential.secret])
  const comment = await say(store, comments, due, mask.text(body))
  await markTold(store.db, due, { told: wanted, comment })
}

async function say(
  { db }: Store,
  comments: GithubComments,
  due: DueReply,
  body: string,
): Promise<PostedComment> {
  let id = due.comment_id === null ? null : Number(due.comment_id)
  if (id === null && due.attempts > 1) {
    // It may have been made by a request of which nobody heard the answer.
    const found = await comments.find(markOf(due), due.created_at)
    if (found) await keepComment(db, due, found)
    id = found?.id ?? null
  }
  if (id === null) return comments.post(body)
  const edited = await comments.edit(id, body)
  if (!edited) throw new Hopeless('The comment was deleted on GitHub.')
  return edited
}

/** The token of the secret that the trigger names by now, with a note that it was used. */
async function readCredential({ store, keyring }: ReplyOptions, due: DueReply): Promise<GitCredential> {
  const { reply, editor_id, editor_disabled, trigger_scope, trigger_id, run_id } = due
  if (!reply) throw new Hopeless('The trigger does not answer any more.')
  if (editor_disabled) throw new Hopeless('Whoever saved the trigger last is disabled.')
  const name = reply.secret
  const [row] = await readSecrets(store.db, [name], {
    principal_id: editor_id,
    personal: trigger_scope === 'User',
  })
  if (!row?.git)
    throw new GitHostFailure(
      'refused',
      `Whoever saved the trigger last has no git token called ${name}, or may not use it.`,
    )
  if (row.git.read_only) throw new GitHostFailure('refused', `${name} is read-only.`)
  const detail = `${name}, to answer for trigger ${trigger_id}`
  await appendAudit(store.db, [
    { action: 'useSecrets', target: run_id, via: 'service', principal_id: editor_id, detail },
  ])
  let secret: string
  try {
    secret = openSecret(keyring, row)
  } catch {
    throw new GitHostFailure(
      'refused',
      `${name} does not open with the keys that the service has: set it anew.`,
    )
  }
  return gitCredentialOf(name, row.git, secret)
}
