import type { FastifyInstance } from 'fastify'
import type { Actor } from '../../contract/actor.ts'
import { ROUTES } from '../../contract/routes.ts'
import { answerApproval, isStillAsking } from '../../store/approvals.ts'
import { type Db, transact } from '../../store/db.ts'
import type { Services } from '../context.ts'
import { sendOnce, serve } from '../route.ts'
import { Wake } from '../wake.ts'
import { requireRunId } from './runs.ts'

/** Turns that ask end within that, as a rule: an agent is stopped, its workspace stored. */
const ASKING_LIMIT_MS = 10_000

export function serveApprovals(app: FastifyInstance, services: Services): void {
  const { store, watch } = services
  serve(app, services, ROUTES.answerApproval, async (call) => {
    const run_id = requireRunId(call.params.run_id)
    const { approval_id } = call.params
    const { decision, reason } = call.body
    await untilAsked(services, run_id, approval_id, call.actor)
    let pool: string | null = null
    const sent = await sendOnce(store.db, call, async (db: Db) => {
      const answer = { run_id, approval_id, decision, reason, author: call.actor }
      const { sequence, claimable_in } = await transact(db, (trx) => answerApproval(trx, answer))
      pool = claimable_in
      return { status: 200, body: { run_id, approval_id, decision, sequence } }
    })
    watch.touchRun(run_id)
    if (pool) watch.touchPool(pool)
    return sent
  })
}

/** Who follows the log sees the question before the turn has ended with it, and may answer at once. */
async function untilAsked(
  { store, watch, closing }: Services,
  run_id: string,
  approval_id: string,
  actor: Actor,
): Promise<void> {
  const given_up = AbortSignal.any([closing, AbortSignal.timeout(ASKING_LIMIT_MS)])
  const wake = new Wake(given_up)
  const stop = watch.onRun(run_id, () => wake.set())
  try {
    while (!given_up.aborted) {
      wake.clear()
      if (!(await isStillAsking(store.db, run_id, approval_id, actor))) return
      await wake.wait(ASKING_LIMIT_MS)
    }
  } finally {
    stop()
    wake.close()
  }
}
