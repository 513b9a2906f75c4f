import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Actor } from '../../contract/actor.ts'
import { AppError } from '../../contract/error.ts'
import { ROUTES } from '../../contract/routes.ts'
import type { DeleteRunsRequest } from '../../contract/run-deletion.ts'
import { type Db, transact } from '../../store/db.ts'
import { leavesRunsOut } from '../../store/run-list.ts'
import {
  countDeletable,
  countOpen,
  deleteTree,
  deleteTrees,
  findCancellable,
  findDeletable,
  notYours,
  readTree,
} from '../../store/run-trees.ts'
import { archiveRun, findRun, renameRun } from '../../store/runs.ts'
import { cancelRuns } from '../../store/transitions.ts'
import { entryOf } from '../audit.ts'
import type { Services } from '../context.ts'
import { sendOnce, serve } from '../route.ts'
import { viewRun } from '../run-view.ts'
import { Wake } from '../wake.ts'
import { linkFor, noSuchRun, requireRun, requireRunId } from './runs.ts'

/** How long it is waited for workers to stop what is cancelled: they stop processes and store the workspace. */
const STOPPING_LIMIT_MS = 10_000
/** How soon it is noticed that the caller has gone. */
const LOOK_MS = 500
/** Of a filter, in one call: one transaction. */
const DELETED_AT_ONCE = 200

export function serveRunDeletion(app: FastifyInstance, services: Services): void {
  const { store, watch } = services
  const touch = (run_ids: readonly string[]): void => {
    for (const run_id of run_ids) watch.touchRun(run_id)
  }

  serve(app, services, ROUTES.deleteRun, async ({ params, query, actor, request }) => {
    const { run_id } = await requireRun(services, params.run_id, actor)
    if (query.cancel) await stopTree(services, run_id, actor, request)
    const audit = entryOf(request, { action: 'deleteRun', status: ROUTES.deleteRun.status })
    const deleted = await transact(store.db, (trx) => deleteTree(trx, run_id, actor, audit))
    if (deleted.length === 0) throw noSuchRun()
    // Its entry, and those of the runs below it, are written with the deletion.
    request.is_noted = true
    touch(deleted)
    return { run_id, deleted: deleted.length }
  })

  serve(app, services, ROUTES.deleteRuns, async (call) => {
    const { actor, request, body } = call
    const { dry_run = false, cancel = false } = body
    const filter = readFilter(body, actor)
    const ended = { which: 'ended', most: DELETED_AT_ONCE } as const
    let touched: string[] = []
    const sent = await sendOnce(store.db, call, async (db) => {
      if (dry_run) {
        const { count, open } = await countDeletable(db, filter, actor)
        request.audit_detail = `a dry run: ${count} runs`
        return { status: 200, body: { dry_run, count, open, has_more: count > 0 } }
      }
      if (cancel) {
        const open = await findDeletable(db, filter, actor, { which: 'open', most: DELETED_AT_ONCE })
        touched = await cancelRuns(db, await findCancellable(db, open), actor)
      }
      const found = await findDeletable(db, filter, actor, ended)
      const audit = entryOf(request, { action: 'deleteRun', status: ROUTES.deleteRun.status })
      const deleted = await transact(db, (trx) => deleteTrees(trx, found, actor, audit))
      touched = [...touched, ...deleted]
      request.audit_detail = `${deleted.length} runs`
      const [next] = await findDeletable(db, filter, actor, { which: 'ended', most: 1 })
      const open = await countOpen(db, filter, actor)
      return { status: 200, body: { dry_run, count: deleted.length, open, has_more: next !== undefined } }
    })
    touch(touched)
    return sent
  })

  serve(app, services, ROUTES.updateRun, async ({ params, body, actor }) => {
    const run_id = requireRunId(params.run_id)
    if (!(await renameRun(store.db, run_id, actor, body.title.trim()))) throw noSuchRun()
    watch.touchRun(run_id)
    return show(services, store.db, run_id, actor)
  })

  for (const archived of [true, false])
    serve(app, services, archived ? ROUTES.archiveRun : ROUTES.unarchiveRun, async (call) => {
      const { params, actor } = call
      const run_id = requireRunId(params.run_id)
      const sent = await sendOnce(store.db, call, async (db) => {
        await archiveRun(db, run_id, actor, archived)
        return { status: 200, body: await show(services, db, run_id, actor) }
      })
      watch.touchRun(run_id)
      return sent
    })
}

async function show(services: Services, db: Db, run_id: string, actor: Actor) {
  const run = await findRun(db, run_id, actor)
  if (!run) throw noSuchRun()
  return viewRun(run, linkFor(services, actor))
}

/** Throws where nothing says which runs are meant. */
function readFilter({ all, archived = 'all', ...given }: DeleteRunsRequest, actor: Actor) {
  const { dry_run: _, cancel: __, ...conditions } = given
  for (const name of ['needs_attention', 'factory_only'] as const)
    if (conditions[name] === false)
      throw new AppError(
        'invalid_request',
        `${name}: must be true or left out. With false it leaves no run out.`,
      )
  const filter = { ...conditions, archived }
  const has_filter = leavesRunsOut(filter, actor)
  if (has_filter && all)
    throw new AppError('invalid_request', 'all: is for no filter, and there is one. Leave one of them out.')
  if (!has_filter && !all)
    throw new AppError(
      'invalid_request',
      'There is no filter. Name which runs to delete, for example by state or created_before, or send all: true.',
    )
  return filter
}

/** Cancels the run and all below it, and waits for their workers to let go of them. */
async function stopTree(
  { store, watch, closing }: Services,
  run_id: string,
  actor: Actor,
  { raw }: FastifyRequest,
): Promise<void> {
  const tree = await readTree(store.db, run_id, actor)
  if (tree.find((run) => run.run_id === run_id)?.may_delete === false) throw notYours()
  const given_up = AbortSignal.any([closing, AbortSignal.timeout(STOPPING_LIMIT_MS)])
  const wake = new Wake(given_up)
  const stops = tree.map((run) => watch.onRun(run.run_id, () => wake.set()))
  try {
    for (;;) {
      wake.clear()
      // An agent that is being stopped may have begun one more run.
      const open = (await readTree(store.db, run_id, actor)).filter(({ is_settled }) => !is_settled)
      if (open.length === 0) return
      const cancelled = await cancelRuns(
        store.db,
        open.map((run) => run.run_id),
        actor,
      )
      for (const one of cancelled) watch.touchRun(one)
      if (given_up.aborted || raw.socket.destroyed) return
      if (cancelled.length === 0) await wake.wait(LOOK_MS)
    }
  } finally {
    for (const stop of stops) stop()
    wake.close()
  }
}
