import type { FastifyInstance } from 'fastify'
import type { Actor } from '../../contract/actor.ts'
import { ROUTES } from '../../contract/routes.ts'
import { answerApproval, isAtWork, StillAsking } from '../../store/approvals.ts'
import { type Db, transact } from '../../store/db.ts'
import { requireRole } from '../auth.ts'
import type { Services } from '../context.ts'
import { type Call, sendOnce, serve } from '../route.ts'
import { Wake } from '../wake.ts'
import { requireRunId } from './runs.ts'

/** Turns that ask end within that, as a rule: an agent is stopped, its workspace stored. */
const ASKING_LIMIT_MS = 10_000
/** How soon it is noticed that the caller has gone. */
const LOOK_MS = 500

export function serveApprovals(app: FastifyInstance, services: Services): void {
  const { store, watch } = services
  serve(app, services, ROUTES.answerApproval, async (call) => {
    const run_id = requireRunId(call.params.run_id)
    const { approval_id } = call.params
    const { decision, reason } = call.body
    let pool: string | null = null
    const send = (author: Actor) =>
      sendOnce(store.db, call, async (db: Db) => {
        const answer = { run_id, approval_id, decision, reason, author }
        const { sequence, claimable_in } = await transact(db, (trx) => answerApproval(trx, answer))
        pool = claimable_in
        return { status: 200, body: { run_id, approval_id, decision, sequence } }
      })
    const sent = await send(call.actor).catch(async (error) => {
      // Who follows the log sees the question before the turn has ended with it, and may answer at once.
      if (!(error instanceof StillAsking)) throw error
      await untilAsked(services, run_id, call, error)
      // They may have lost their rights meanwhile.
      const actor = await services.access.authenticate(call.request)
      requireRole(ROUTES.answerApproval, actor)
      return send(actor)
    })
    watch.touchRun(run_id)
    if (pool) watch.touchPool(pool)
    return sent
  })
}

/** Throws `refusal` where the turn takes too long to end, or the caller does not wait for it. */
async function untilAsked(
  { store, watch, closing }: Services,
  run_id: string,
  { request }: Pick<Call<typeof ROUTES.answerApproval>, 'request'>,
  refusal: StillAsking,
): Promise<void> {
  const given_up = AbortSignal.any([closing, AbortSignal.timeout(ASKING_LIMIT_MS)])
  const wake = new Wake(given_up)
  const stop = watch.onRun(run_id, () => wake.set())
  try {
    for (;;) {
      wake.clear()
      const working = !given_up.aborted && (await isAtWork(store.db, run_id))
      if (given_up.aborted || request.raw.socket.destroyed) throw refusal
      if (!working) return
      await wake.wait(LOOK_MS)
    }
  } finally {
    stop()
    wake.close()
  }
}
