import type { Actor } from '../contract/actor.ts'
import { AppError } from '../contract/error.ts'
import type { IdentityConfig } from '../contract/identity.ts'
import type { RunAgentRequest } from '../contract/run-request.ts'
import type { Db } from '../store/db.ts'
import { findMissingGrants, mayUseIdentity, notGranted } from '../store/grants.ts'
import { findIdentity, type IdentityRow } from '../store/identities.ts'

/** Who executes a run, and what is asked for once the defaults of an identity are in it. */
export interface Execution {
  principal_id: string
  is_identity: boolean
  request: RunAgentRequest
}

/** The caller executes a run itself, or has an identity do it, which it must be allowed to. Throws what it may not. */
export async function findExecution(db: Db, request: RunAgentRequest, actor: Actor): Promise<Execution> {
  const uid = request.agent_identity_uid ?? (actor.is_identity ? actor.principal_id : undefined)
  const identity = uid === undefined ? null : await findIdentity(db, uid)
  if (!identity) {
    if (request.agent_identity_uid === undefined)
      return { principal_id: actor.principal_id, is_identity: false, request }
    throw new AppError('invalid_request', 'agent_identity_uid: there is no identity with this id.')
  }
  if (!(await mayUseIdentity(db, identity.uid, actor)))
    throw notGranted([{ resource_type: 'identity', resource_id: identity.uid }])
  if (request.team === false)
    throw new AppError(
      'invalid_request',
      'team: runs of an identity are runs of the team, so it cannot be false with one.',
    )
  return { principal_id: identity.uid, is_identity: true, request: applyDefaults(identity, request) }
}

/** Throws when the pool, the environment or a secret of a run is granted to others only. Admins may use all. */
export async function requireRunGrants(
  db: Db,
  actor: Pick<Actor, 'role'>,
  run: Parameters<typeof findMissingGrants>[1],
): Promise<void> {
  if (actor.role === 'admin') return
  const missing = await findMissingGrants(db, run)
  if (missing.length > 0) throw notGranted(missing)
}

/** What the run says itself wins. */
function applyDefaults({ config: own }: IdentityRow, request: RunAgentRequest): RunAgentRequest {
  const { config: given = {} } = request
  const harness = given.harness ?? own.harness ?? (own.base_harness ? { type: own.base_harness } : undefined)
  const skilled = request.skill ?? given.skill_spec ?? given.skills?.[0]
  const model_id = given.model_id ?? (isModelOf(own, harness) ? own.base_model : undefined)
  // A run with a parent is where that one is.
  const environment_id = given.environment_id ?? (request.parent_run_id ? undefined : own.environment_id)
  const base_prompt = given.base_prompt ?? own.prompt
  const worker_host = given.worker_host || own.worker_host
  return {
    ...request,
    config: {
      ...given,
      ...(environment_id === undefined ? {} : { environment_id }),
      ...(model_id === undefined ? {} : { model_id }),
      ...(base_prompt === undefined ? {} : { base_prompt }),
      ...(worker_host ? { worker_host } : {}),
      ...(harness === undefined ? {} : { harness }),
      ...(skilled === undefined && own.skills?.length ? { skills: own.skills } : {}),
    },
  }
}

/** A model goes with its harness: that of another is of no use to the one that the run asks for. */
const isModelOf = (own: IdentityConfig, harness: { type?: string | undefined } | undefined): boolean =>
  (own.harness?.type ?? own.base_harness ?? 'oz') === (harness?.type ?? 'oz')
