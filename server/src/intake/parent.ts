/** What a run may have that is created below another, by an agent or over HTTP: at most what that one has. */
import { isDeepStrictEqual } from 'node:util'
import type { Actor } from '../contract/actor.ts'
import type { AmbientAgentConfig } from '../contract/agent-config.ts'
import { AppError } from '../contract/error.ts'
import type { Permissions } from '../contract/permission.ts'
import type { BudgetLimits, RunAgentRequest } from '../contract/run-request.ts'
import { unseal } from '../sealing/sealing.ts'
import type { Db } from '../store/db.ts'
import { isEnvironment } from '../store/environments.ts'
import { requireGrantsFor } from '../store/grants.ts'
import { isPrincipalActive, orphaned } from '../store/principals.ts'
import { findRun, type RunRow } from '../store/runs.ts'
import { revealConfig } from './config-secrets.ts'
import type { EarlierServices } from './earlier-run.ts'
import { requireSameRepositories } from './run-repositories.ts'

const MAX_DEPTH = 32

/** A request, and what it has of the run that it is to be below. */
interface Below {
  request: RunAgentRequest
  parent: RunRow | null
  rules_above: Permissions[]
}

/**
 * The request with what it leaves out of its parent's, where it names one. Throws where the caller has no runs there, or the
 * request asks for more than the parent has. The agent of a run is there already, so `by_agent` takes no grants.
 */
export async function placeRequest(
  services: EarlierServices,
  request: RunAgentRequest,
  actor: Actor,
  by_agent: boolean,
): Promise<Below> {
  const parent = await findParent(services.db, request, actor, by_agent)
  if (!parent) return { request, parent, rules_above: [] }
  return {
    request: await narrowRequest(services, request, parent, actor),
    parent,
    rules_above: rulesBelow(parent),
  }
}

/** Who may not go on with a run has no others below it. */
async function findParent(
  db: Db,
  { parent_run_id }: RunAgentRequest,
  actor: Actor,
  by_agent: boolean,
): Promise<RunRow | null> {
  if (!parent_run_id) return null
  const parent = await findRun(db, parent_run_id, actor)
  if (!parent) throw new AppError('resource_not_found', 'parent_run_id: there is no run with this id.')
  if (parent.ancestor_run_ids.length >= MAX_DEPTH)
    throw new AppError('invalid_request', `parent_run_id: runs nest at most ${MAX_DEPTH} deep.`)
  if (parent.state === 'CANCELLED')
    throw new AppError(
      'invalid_request',
      'parent_run_id: the run was cancelled, so none is created below it.',
    )
  if (!(await isPrincipalActive(db, parent.principal_id))) throw orphaned()
  if (!by_agent) await requireGrantsFor(db, actor, parent)
  return parent
}

/** Throws `invalid_request`, with the field and what the parent has, where more is asked for. */
async function narrowRequest(
  services: EarlierServices,
  request: RunAgentRequest,
  parent: RunRow,
  actor: Actor,
): Promise<RunAgentRequest> {
  const { config = {} } = request
  requireServers(services, config, parent)
  await requireEnvironment(services.db, config, parent)
  requireSameRepositories(
    config,
    parent.config,
    'are those of the parent run for all runs below it; leave them out.',
  )
  if (config.worker_host && config.worker_host !== parent.pool)
    throw beyond('config.worker_host', `is in the pool ${parent.pool}, and so are the runs below it.`)
  const { environment_id: _, repositories: __, permissions: asked, ...own } = config
  const { repositories } = parent.config
  const permissions = asked?.length ? asked : parent.config.permissions
  const budget = narrowBudget(request.budget, budgetLeft(parent))
  return {
    ...request,
    ...executorOf(request, parent, actor),
    ...(budget ? { budget } : {}),
    config: {
      ...own,
      worker_host: parent.pool,
      ...(parent.environment_id === null ? {} : { environment_id: parent.environment_id }),
      ...(repositories ? { repositories } : {}),
      ...(permissions ? { permissions } : {}),
    },
  }
}

/** The sets of rules that hold for a run below this one, beside its own: of each set the first that fits, of these the strictest. */
function rulesBelow({ config: { permissions = [] }, rules_above }: RunRow): Permissions[] {
  const above = rules_above ?? []
  const is_new = permissions.length > 0 && !above.some((set) => isDeepStrictEqual(set, permissions))
  return is_new ? [...above, permissions] : above
}

const beyond = (field: string, why: string): AppError =>
  new AppError('invalid_request', `${field}: the parent run ${why}`)

/** An identity executes what is below its runs; a person nothing that others create. */
function executorOf(
  { agent_identity_uid }: RunAgentRequest,
  { principal_id, executor }: RunRow,
  actor: Actor,
): Pick<RunAgentRequest, 'agent_identity_uid'> {
  const inherited = executor.type === 'service_account' ? principal_id : actor.principal_id
  if ((agent_identity_uid ?? inherited) === principal_id)
    return principal_id === actor.principal_id ? {} : { agent_identity_uid: principal_id }
  throw beyond(
    agent_identity_uid === undefined ? 'parent_run_id' : 'agent_identity_uid',
    `is executed by ${executor.display_name} (${principal_id}), and so are the runs below it.`,
  )
}

async function requireEnvironment(
  db: Db,
  { environment_id: asked }: AmbientAgentConfig,
  { environment_id }: RunRow,
): Promise<void> {
  if (asked === undefined || (await isEnvironment(db, asked, environment_id))) return
  throw beyond(
    'config.environment_id',
    environment_id === null
      ? 'has no environment, so runs below it have none either.'
      : `is in the environment ${environment_id}, and so are the runs below it.`,
  )
}

/** By name and by all that is said of it, values included: another address would be another server. */
function requireServers(
  { seal_key }: EarlierServices,
  { mcp_servers: asked = {} }: AmbientAgentConfig,
  { run_id, config, sealed }: RunRow,
): void {
  if (Object.keys(asked).length === 0) return
  const secrets = sealed ? unseal(seal_key, run_id, sealed) : {}
  const { mcp_servers: held = {} } = revealConfig(config, { config, secrets }, 'config')
  const foreign = Object.keys(asked).find((name) => !isDeepStrictEqual(asked[name], held[name]))
  if (foreign === undefined) return
  const names = Object.keys(held).sort()
  throw beyond(
    `config.mcp_servers.${foreign}`,
    names.includes(foreign)
      ? 'has another tool server of this name; give it exactly as it was given there.'
      : names.length > 0
        ? `has no such tool server; it has ${names.join(', ')}.`
        : 'has no tool servers.',
  )
}

const LIMITS = ['max_cost_usd', 'max_tokens', 'max_duration_minutes'] as const

function narrowBudget(asked: BudgetLimits = {}, left: BudgetLimits): BudgetLimits | undefined {
  for (const limit of LIMITS) {
    const most = left[limit]
    if (most === undefined) continue
    if (most <= 0) throw beyond(`budget.${limit}`, 'has spent its budget.')
    if ((asked[limit] ?? 0) > most)
      throw beyond(`budget.${limit}`, `has ${Math.floor(most * 1e4) / 1e4} left.`)
  }
  const budget = { ...left, ...asked }
  return Object.keys(budget).length > 0 ? budget : undefined
}

/** Of each limit that the run has. */
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
