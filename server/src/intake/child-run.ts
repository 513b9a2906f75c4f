import { z } from 'zod'
import { AppError } from '../contract/error.ts'
import { RunAgentRequest } from '../contract/run-request.ts'
import { isWorking } from '../contract/state.ts'
import { noteService } from '../store/audit-log.ts'
import { transact } from '../store/db.ts'
import { hashBody, type IdempotencyKey, readAnswer } from '../store/idempotency.ts'
import type { Lease } from '../store/leases.ts'
import { insertRun } from '../store/new-runs.ts'
import { isPrincipalActive, ORPHANED } from '../store/principals.ts'
import { findFullTree, type TreeMaxima } from '../store/quotas.ts'
import { type RunRow, readRuns } from '../store/runs.ts'
import { type RunServices, resolveRun } from './new-run.ts'

/** Runs that the agent of one run may create, those of others with it as their parent included. */
export const MAX_CHILDREN = 20
/** Runs of one tree that agents may make it grow to: children have children. */
export const MAX_TREE = 100
const TREE_MAXIMA: TreeMaxima = { children: MAX_CHILDREN, below: MAX_TREE }

/** What an agent says of the run it wants. */
export interface ChildWish {
  prompt: string
  title?: string
  model_id?: string
  skill?: string
}

/**
 * Creates a run below the one that is held, once for each key: with its harness, beside what every child has of its parent
 * (`parent.ts`). `refusal`: why there is none, for the agent.
 */
export async function createChild(
  services: RunServices,
  lease: Lease,
  wish: ChildWish,
  key: string,
): Promise<{ run_id: string; pool: string; ancestor_run_ids: string[] } | { refusal: string }> {
  const { db } = services
  const [parent] = await readRuns(db, [lease.run_id])
  if (
    !parent ||
    !isWorking(parent.state) ||
    parent.attempt !== lease.attempt ||
    parent.worker_id !== lease.worker_id
  )
    return { refusal: 'This run is over.' }
  // Ids of calls are the model's: of any length.
  const hash = hashBody(Buffer.from(key))
  const once: IdempotencyKey = {
    ...{
      principal_id: parent.principal_id,
      route: 'spawn_run',
      key: `${lease.run_id} ${hash.toString('hex')}`,
    },
    // One call of a tool has one input.
    body_hash: hash,
  }
  const earlier = await readAnswer(db, once)
  const ancestor_run_ids = [...parent.ancestor_run_ids, parent.run_id]
  if (earlier)
    return { run_id: (earlier.body as { run_id: string }).run_id, pool: parent.pool, ancestor_run_ids }
  if (!(await isPrincipalActive(db, parent.principal_id))) return { refusal: ORPHANED }
  // Counted again where it is stored: this one only spares the work.
  const full = await findFullTree(
    db,
    { parent_run_id: parent.run_id, root_run_id: parent.root_run_id },
    TREE_MAXIMA,
  )
  if (full !== null) return { refusal: full }
  const request = RunAgentRequest.safeParse(requestOf(parent, wish))
  if (!request.success) return { refusal: z.prettifyError(request.error) }
  try {
    const actor = { principal_id: parent.principal_id, role: 'member', key_id: '' } as const
    const resolved = await resolveRun(services, request.data, actor, 'ORCHESTRATION')
    // The parent may be executed by an identity, which anybody can make.
    const run = { ...resolved, charged_to: parent.charged_to ?? parent.creator_id }
    const { run_id } = await transact(db, async (trx) => {
      const maxima = { open: services.open_runs, tree: TREE_MAXIMA }
      const { response, replayed } = await insertRun(trx, run, once, maxima)
      const who = { run_id: response.run_id, principal_id: run.creator_id }
      if (!replayed)
        await noteService(trx, { action: 'createRun', ...who, detail: `spawn_run of run ${parent.run_id}` })
      return response
    })
    return { run_id, pool: run.pool, ancestor_run_ids }
  } catch (error) {
    if (!(error instanceof AppError) || error.status >= 500) throw error
    return { refusal: error.detail }
  }
}

function requestOf(parent: RunRow, { prompt, title, model_id, skill }: ChildWish): unknown {
  const { harness, model_id: own_model, base_prompt, fallback_model_ids } = parent.config
  return {
    prompt,
    ...(title ? { title } : {}),
    ...(skill ? { skill } : {}),
    parent_run_id: parent.run_id,
    ...(parent.priority === 0 ? {} : { priority: parent.priority }),
    config: {
      ...(base_prompt ? { base_prompt } : {}),
      ...(model_id ? { model_id } : own_model ? { model_id: own_model } : {}),
      ...(fallback_model_ids ? { fallback_model_ids } : {}),
      ...(harness ? { harness: model_id ? { ...harness, model_id } : harness } : {}),
    },
  }
}
