/** Rows for tests of the store, as the service would make them. */
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { v7 as uuidv7 } from 'uuid'
import type { Actor } from '../../src/contract/actor.ts'
import type { RunEvent } from '../../src/contract/event.ts'
import type { RunState } from '../../src/contract/state.ts'
import { createPrincipalWithKey } from '../../src/store/api-keys.ts'
import type { Db } from '../../src/store/db.ts'
import { type OpenMessage, readLogPages } from '../../src/store/events.ts'
import { acceptFollowup, type NewFollowup } from '../../src/store/followups.ts'
import { claimRuns, type Lease } from '../../src/store/leases.ts'
import { insertRun, type NewRun } from '../../src/store/new-runs.ts'
import { interruptRun } from '../../src/store/runs.ts'
import { cancelRun } from '../../src/store/transitions.ts'
import { registerWorker, type WorkerRegistration } from '../../src/store/workers.ts'

export const POOL = 'default'

export async function addPrincipal(db: Db, max_running = 1000): Promise<string> {
  return (await createPrincipalWithKey(db, { name: 'someone', role: 'member', max_running })).principal_id
}

/** A principal as one of its keys would name it; the store asks no more than who it is. */
export const actorOf = (principal_id: string): Actor => ({
  principal_id,
  role: 'member',
  key_id: principal_id,
})

export function newRun(principal_id: string, more: Partial<NewRun> = {}): NewRun {
  const run_id = uuidv7()
  return {
    run_id,
    pool: POOL,
    principal_id,
    creator_id: principal_id,
    scope: 'Team',
    priority: 0,
    title: 'A run',
    prompt: 'Do it.',
    name: null,
    model_id: null,
    environment_id: null,
    skill_spec: null,
    source: 'API',
    config: {},
    sealed: null,
    rules_above: [],
    request: {},
    metadata: {},
    conversation_id: run_id,
    parent_run_id: null,
    root_run_id: run_id,
    ancestor_run_ids: [],
    attachments: [],
    ...more,
  }
}

export async function addRun(db: Db, principal_id: string, more: Partial<NewRun> = {}): Promise<string> {
  return (await insertRun(db, newRun(principal_id, more), null)).response.run_id
}

export async function addWorker(
  db: Db,
  more: Partial<WorkerRegistration> = {},
): Promise<{ worker_id: string; pool: string }> {
  const { worker_id = randomUUID(), pool = POOL } = more
  const models = { models: [] }
  await registerWorker(db, {
    ...{
      host: 'a-host',
      version: '0.0.0',
      place: 'a-place',
      slots: 8,
      sandbox: 'host',
      models,
      lacking_agents: [],
    },
    ...{ ...more, worker_id, pool },
  })
  return { worker_id, pool }
}

/** A run in a pool of its own, claimed by a worker of its own. */
export async function holdRun(db: Db): Promise<Lease & { principal_id: string; pool: string }> {
  const pool = randomUUID()
  const principal_id = await addPrincipal(db)
  await addRun(db, principal_id, { pool })
  const worker = await addWorker(db, { pool })
  const [lease] = await claimRuns(db, worker, 1)
  if (!lease) throw new Error('The run was not claimed.')
  return { ...lease, principal_id, pool }
}

export const follow = (db: Db, run_id: string, author_id: string, more: Partial<NewFollowup> = {}) =>
  db.transaction().execute((trx) =>
    acceptFollowup(trx, {
      run_id,
      author: actorOf(author_id),
      message: 'And then?',
      mode: 'normal',
      on_busy: 'enqueue',
      attachments: [],
      ...more,
    }),
  )
export const cancel = (db: Db, run_id: string, principal_id: string) =>
  db.transaction().execute((trx) => cancelRun(trx, run_id, actorOf(principal_id)))
export const interrupt = (db: Db, run_id: string, principal_id: string) =>
  db.transaction().execute((trx) => interruptRun(trx, run_id, actorOf(principal_id)))

/** The whole log. */
export const readWholeLog = async (db: Db, run_id: string): Promise<RunEvent[]> =>
  (await Array.fromAsync(readLogPages(db, run_id, 0))).flat()

/** What tests look at of a stored run. */
export interface Stored {
  state: RunState
  worker_id: string | null
  attempt: number
  execution: number
  lost_attempts: number
  undelivered: number
  interrupt_sequence: number | null
  run_time_ms: number
  last_sequence: number
  input_tokens: number
  updated_at: Date
}

export async function readStored(db: Db, run_id: string): Promise<Stored> {
  const found = await sql<Stored>`
    select state, worker_id, attempt, execution, lost_attempts, undelivered, interrupt_sequence,
      run_time_ms::double precision as run_time_ms, last_sequence,
      input_tokens::double precision as input_tokens, updated_at
    from runs where run_id = ${run_id}`.execute(db)
  const [row] = found.rows
  if (!row) throw new Error('There is no such run.')
  return row
}

/** The texts of a run that are on their way. */
export async function readOpenMessages(db: Db, run_id: string): Promise<OpenMessage[]> {
  const found = await sql<OpenMessage>`
    select message_id, text from open_messages where run_id = ${run_id} order by message_id`.execute(db)
  return found.rows
}
