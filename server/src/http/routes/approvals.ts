import type { FastifyInstance } from 'fastify'
import { ROUTES } from '../../contract/routes.ts'
import { answerApproval } from '../../store/approvals.ts'
import { type Db, transact } from '../../store/db.ts'
import type { Services } from '../context.ts'
import { sendOnce, serve } from '../route.ts'
import { requireRunId } from './runs.ts'

export function serveApprovals(app: FastifyInstance, services: Services): void {
  const { store, watch } = services
  serve(app, services, ROUTES.answerApproval, async (call) => {
    const run_id = requireRunId(call.params.run_id)
    const { approval_id } = call.params
    const { decision, reason } = call.body
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
