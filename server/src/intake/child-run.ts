import { z } from 'zod'
import { AppError } from '../contract/error.ts'
import { type BudgetLimits, RunAgentRequest } from '../contract/run-request.ts'
import { isWorking } from '../contract/state.ts'
import { noteService } from '../store/audit-log.ts'
import { transact } from '../store/db.ts'
import { hashBody, type IdempotencyKey, readAnswer } from '../store/idempotency.ts'
import type { Lease } from '../store/leases.ts'
import { isPrincipalActive, ORPHANED } from '../store/principals.ts'
import { findFullTree, type TreeMaxima } from '../store/quotas.ts'
import { insertRun, type RunRow, readRuns } from '../store/runs.ts'
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
 * Creates a run below the one that is held, once for each key: with the environment, permissions, principal, pool, harness and
 * visibility of its parent, and at most what is left of that one's budget. `refusal`: why there is none, for the agent.
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
  const refusal = await findLimit(services, parent)
  if (refusal !== null) return { refusal }
  const request = RunAgentRequest.safeParse(requestOf(parent, wish))
  if (!request.success) return { refusal: z.prettifyError(request.error) }
  try {
    const actor = { principal_id: parent.principal_id, role: 'member', key_id: '' } as const
    const run = await resolveRun(services, request.data, actor, 'ORCHESTRATION')
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

async function findLimit({ db }: RunServices, parent: RunRow): Promise<string | null> {
  // Counted again where it is stored: this one only spares the work.
  const full = await findFullTree(
    db,
    { parent_run_id: parent.run_id, root_run_id: parent.root_run_id },
    TREE_MAXIMA,
  )
  if (full !== null) return full
  const left = budgetLeft(parent)
  return Object.values(left).some((limit) => limit !== undefined && limit <= 0)
    ? 'The budget of this run is spent.'
    : null
}

function requestOf(parent: RunRow, { prompt, title, model_id, skill }: ChildWish): unknown {
  const { harness, model_id: own_model, base_prompt, permissions } = parent.config
  const budget = budgetLeft(parent)
  return {
    prompt,
    ...(title ? { title } : {}),
    ...(skill ? { skill } : {}),
    parent_run_id: parent.run_id,
    ...(parent.priority === 0 ? {} : { priority: parent.priority }),
    ...(Object.keys(budget).length > 0 ? { budget } : {}),
    config: {
      worker_host: parent.pool,
      ...(parent.environment_id ? { environment_id: parent.environment_id } : {}),
      ...(base_prompt ? { base_prompt } : {}),
      ...(permissions ? { permissions } : {}),
      ...(model_id ? { model_id } : own_model ? { model_id: own_model } : {}),
      ...(harness ? { harness: model_id ? { ...harness, model_id } : harness } : {}),
    },
  }
}

function budgetLeft(run: RunRow): BudgetLimits {
  const { max_cost_usd, max_tokens, max_duration_minutes } = run.request.budget ?? {}
  const claimed = run.claimed_at ? Date.now() - run.claimed_at.getTime() : 0
  const worked_ms = run.run_time_ms + Math.max(0, claimed)
  return {
    ...(max_cost_usd === undefined ? {} : { max_cost_usd: max_cost_usd - run.inference_cost_usd }),
    ...(max_tokens === undefined ? {} : { max_tokens: max_tokens - run.input_tokens - run.output_tokens }),
    ...(max_duration_minutes === undefined
      ? {}
      : { max_duration_minutes: max_duration_minutes - worked_ms / 60_000 }),
  }
}
