import type { FastifyInstance } from 'fastify'
import { ROUTES } from '../../contract/routes.ts'
import { storeAttachments, withAttachments } from '../../intake/attachments.ts'
import { requireAvailable, requireSwitch } from '../../intake/unavailable.ts'
import { type Db, transact } from '../../store/db.ts'
import { acceptFollowup } from '../../store/followups.ts'
import type { RunRow } from '../../store/runs.ts'
import type { Services } from '../context.ts'
import { type Call, readEarlier, sendOnce, serve } from '../route.ts'
import { requireNewestRun } from './conversations.ts'
import { requireRun } from './runs.ts'

export function serveFollowups(app: FastifyInstance, services: Services): void {
  const { store, watch, blobs, settings } = services
  const files = { db: store.db, blobs, max_run_files_bytes: settings.max_run_files_bytes }
  const submit = async (
    call: Call<typeof ROUTES.submitFollowup> | Call<typeof ROUTES.submitConversationFollowup>,
    { run_id, config }: Pick<RunRow, 'run_id' | 'config'>,
    named: { run_id?: string },
  ) => {
    const { message = '', mode = 'normal', on_busy = 'enqueue', attachments = [] } = call.body
    const { budget = null, model_id = null } = call.body
    // A repeated message must not be refused for want of room that its own attachments take.
    const earlier = await readEarlier(store.db, call)
    if (earlier) return earlier.body
    requireAvailable(call.body)
    if (model_id !== null) requireSwitch(settings.harnesses, config)
    const stored = await storeAttachments(
      { ...files, received: call.request.received_files },
      run_id,
      attachments,
    )
    let pool: string | null = null
    const accept = async (db: Db) => {
      const prepared = attachments.flatMap(({ attachment_id, file_name }) =>
        attachment_id === undefined ? [] : [{ attachment_id, file_name }],
      )
      const said = { run_id, author: call.actor, message, mode, on_busy, attachments: stored, prepared }
      const followup = { ...said, budget, model_id }
      const accepted = await transact(db, (trx) => acceptFollowup(trx, followup))
      pool = accepted.claimable_in
      return { status: 200, body: { ...named, followup_id: accepted.followup_id, outcome: accepted.outcome } }
    }
    const sent = await withAttachments(blobs, stored, async () => {
      const result = await sendOnce(store.db, call, accept)
      return { used: !call.reply.hasHeader('idempotent-replayed'), result }
    })
    watch.touchRun(run_id)
    if (pool) watch.touchPool(pool)
    return sent
  }
  serve(
    app,
    services,
    ROUTES.submitFollowup,
    async (call) => submit(call, await requireRun(services, call.params.run_id, call.actor), {}),
    { admit: ({ params, actor }) => requireRun(services, params.run_id, actor) },
  )
  serve(
    app,
    services,
    ROUTES.submitConversationFollowup,
    async (call) => {
      const run = await requireNewestRun(services, call.params.conversation_id, call.actor)
      return submit(call, run, { run_id: run.run_id })
    },
    { admit: ({ params, actor }) => requireNewestRun(services, params.conversation_id, actor) },
  )
}
