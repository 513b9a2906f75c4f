import type { FastifyInstance } from 'fastify'
import type { Actor } from '../../contract/actor.ts'
import { AppError } from '../../contract/error.ts'
import { ROUTES } from '../../contract/routes.ts'
import type { RunItem, RunSourceType } from '../../contract/run.ts'
import { isUuid } from '../../contract/run-id.ts'
import { withAttachments } from '../../intake/attachments.ts'
import { MAX_TREE } from '../../intake/child-run.ts'
import { resolveRun } from '../../intake/new-run.ts'
import { explainWaiting, warnOfPool } from '../../intake/waiting.ts'
import { Grouped } from '../../store/grouped.ts'
import { answer, insertRun, insertRuns, type Wish } from '../../store/new-runs.ts'
import { isLimited } from '../../store/quotas.ts'
import { listRuns } from '../../store/run-list.ts'
import { findRun, interruptRun, type RunRow } from '../../store/runs.ts'
import { SharedQuestion } from '../../store/shared-question.ts'
import { cancelRun } from '../../store/transitions.ts'
import { entryOf, noteReading } from '../audit.ts'
import type { Services } from '../context.ts'
import { redirectToDownload } from '../download.ts'
import { intakeServices } from '../intake-services.ts'
import { type Call, readEarlier, sendOnce, serve } from '../route.ts'
import { type ShownRun, viewRun, viewRuns } from '../run-view.ts'
import { isOpenByLink } from '../session-access.ts'

export function serveRuns(app: FastifyInstance, services: Services): void {
  const { store, watch, blobs, settings } = services

  const asker = (actor: Actor) => ({ actor, default_pool: settings.default_pool })
  const poolWarnings = new SharedQuestion(
    ({ pool, actor }: { pool: string; actor: Actor }) =>
      JSON.stringify([pool, actor.principal_id, actor.role]),
    ({ pool, actor }) => warnOfPool(store.db, pool, asker(actor)),
  )
  const creates = new Grouped((wishes: readonly Wish[]) => insertRuns(store.db, wishes))
  const whyQueued = (runs: ReadonlyArray<Pick<RunRow, 'run_id' | 'state'>>, actor: Actor) => {
    const queued = runs.filter(({ state }) => state === 'QUEUED').map(({ run_id }) => run_id)
    return explainWaiting(store.db, queued, asker(actor))
  }

  const create = async (
    action: 'createRun' | 'runAgent',
    call: Call<typeof ROUTES.createRun> | Call<typeof ROUTES.runAgent>,
  ) => {
    // A repeated create must not look up, store or refuse anything again.
    const earlier = await readEarlier(store.db, call)
    if (earlier) return earlier.body
    const run = await resolveRun(
      { ...intakeServices(services), received: call.request.received_files },
      call.body,
      call.actor,
      sourceOf(call.request.headers['x-runyard-source']),
    )
    // Here its link is given out, for as long as the run is there; each read of the run only makes it again.
    if (isOpenByLink(run)) call.request.audit_detail = 'its link opens it without a key'
    // Part of the answer that is stored for its Idempotency-Key, so that a repeated create hears the same.
    const warning = await poolWarnings.ask({ pool: run.pool, actor: call.actor })
    const { ancestor_run_ids, pool } = run
    const hint = watch.takeHint({ run_ids: ancestor_run_ids, pool })
    const { response, replayed } = await withAttachments(blobs, run.attachments, async () => {
      const maxima = {
        open: settings.open_runs,
        // As large as agents may make one, however it grows.
        ...(run.parent_run_id === null ? {} : { tree: { children: MAX_TREE, below: MAX_TREE } }),
      }
      const wish = {
        run,
        key: call.idempotency,
        warnings: warning === null ? [] : [warning],
        audit: entryOf(call.request, { action, status: ROUTES[action].status }),
        hint,
      }
      const result = isLimited(maxima)
        ? await insertRun(store.db, run, call.idempotency, maxima, wish)
        : await answer(store.db, wish, await creates.add(wish))
      return { used: !result.replayed, result }
    })
    if (replayed) call.reply.header('idempotent-replayed', 'true')
    else {
      call.request.is_noted = true
      // Who follows the runs below them follows this one, too.
      if (hint === null) for (const run_id of ancestor_run_ids) watch.touchRun(run_id)
      if (hint === null) watch.touchPool(pool)
    }
    return response
  }
  serve(app, services, ROUTES.createRun, (call) => create('createRun', call))
  serve(app, services, ROUTES.runAgent, (call) => create('runAgent', call))

  serve(app, services, ROUTES.listRuns, async ({ query, actor }) => {
    const { runs, next_cursor } = await listRuns(store.db, query, actor)
    return viewRuns(runs, next_cursor, linkFor(services, actor), await whyQueued(runs, actor))
  })

  serve(app, services, ROUTES.getRun, async ({ params, actor }) => {
    const run = await requireRun(services, params.run_id, actor)
    return viewRun(run, linkFor(services, actor), (await whyQueued([run], actor)).get(run.run_id))
  })

  serve(app, services, ROUTES.cancelRun, async (call) => {
    const run_id = requireRunId(call.params.run_id)
    const sent = await sendOnce(store.db, call, async (db) => {
      await cancelRun(db, run_id, call.actor)
      return { status: 200, body: run_id }
    })
    watch.touchRun(run_id)
    return sent
  })

  serve(app, services, ROUTES.interruptRun, async (call) => {
    const run_id = requireRunId(call.params.run_id)
    const sent = await sendOnce(store.db, call, async (db) => {
      await interruptRun(db, run_id, call.actor)
      return { status: 202, body: { run_id } }
    })
    watch.touchRun(run_id)
    return sent
  })

  serve(app, services, ROUTES.getTranscript, async (call) => {
    const run = await requireRun(services, call.params.run_id, call.actor)
    noteReading(call.request, call.actor, run)
    return redirectToDownload(services, call, `/downloads/transcripts/${run.run_id}.jsonl`)
  })
}

export const linkFor =
  ({ sessions, settings }: Services, actor: Actor) =>
  (run: ShownRun) => ({
    session_link: sessions.sessionLink(run, actor),
    ...linkOrigin(run, settings.public_url),
  })

/** Ids are case-sensitive and of one form; another form is simply not there. */
export function requireRunId(run_id: string): string {
  if (!isUuid(run_id)) throw noSuchRun()
  return run_id
}

export const noSuchRun = (): AppError => new AppError('resource_not_found', 'There is no run with this id.')

export async function requireRun(services: Services, run_id: string, actor: Actor): Promise<RunRow> {
  const run = await findRun(services.store.db, requireRunId(run_id), actor)
  if (!run) throw noSuchRun()
  return run
}

/** The page of what created the run. */
function linkOrigin({ schedule, trigger }: ShownRun, public_url: string): Pick<RunItem, 'trigger_url'> {
  if (schedule) return { trigger_url: `${public_url}/schedules/${schedule.schedule_id}` }
  return trigger ? { trigger_url: `${public_url}/triggers/${trigger.trigger_id}` } : {}
}

function sourceOf(header: unknown): RunSourceType {
  if (header === undefined) return 'API'
  if (header === 'CLI' || header === 'WEB_APP' || header === 'API') return header
  throw new AppError('invalid_request', 'X-Runyard-Source: must be API, CLI or WEB_APP.')
}
