import { type AmbientAgentConfig, asksForProvider } from '../contract/agent-config.ts'
import { AppError } from '../contract/error.ts'
import { type HarnessTraits, keepsModel } from '../contract/harness-fields.ts'
import type { RunAgentRequest, RunFollowupRequest } from '../contract/run-request.ts'
import type { Db } from '../store/db.ts'
import { isAgentMissing } from '../store/workers.ts'

/**
 * Throws `feature_not_available`, naming the fields, when a request asks for what this version does not do. Doing without and
 * calling it done would be worse. `docs/request-fields.md` says what becomes of each field.
 */
export function requireAvailable(request: RunAgentRequest | RunFollowupRequest): void {
  const asked = [...fieldsOf(request), ...('config' in request ? configFieldsOf(request.config) : [])]
  if (asked.length > 0) {
    throw new AppError('feature_not_available', `This version does not offer ${asked.join(', ')}.`)
  }
}

function fieldsOf(request: Pick<RunAgentRequest, 'mode' | 'on_behalf_of'>): string[] {
  const { mode = 'normal', on_behalf_of } = request
  return [
    ...(mode === 'normal' ? [] : [`mode: ${mode}`]),
    ...(on_behalf_of === undefined ? [] : ['on_behalf_of']),
  ]
}

function configFieldsOf(config: RunAgentRequest['config'] = {}): string[] {
  const { computer_use_enabled, harness_auth_secrets = {}, credential_strategy } = config
  return [
    ...(computer_use_enabled ? ['config.computer_use_enabled'] : []),
    ...(Object.keys(harness_auth_secrets).length > 0 ? ['config.harness_auth_secrets'] : []),
    ...(config.secrets?.length ? ['config.secrets; name them in the environment'] : []),
    ...(config.runner_id ? ['config.runner_id; config.worker_host names a pool'] : []),
    ...(config.memory_stores?.length ? ['config.memory_stores'] : []),
    ...(asksForProvider(config.inference_providers) ? ['config.inference_providers'] : []),
    ...(credential_strategy === 'CREATOR' ? ['config.credential_strategy: CREATOR'] : []),
  ]
}

/** Throws `invalid_request` where the run's harness cannot go on with another model. */
export function requireSwitch(harnesses: readonly HarnessTraits[], { harness }: AmbientAgentConfig): void {
  const named = harnesses.find(({ name }) => name === harness?.type)
  const why = named && keepsModel(named)
  if (why) throw new AppError('invalid_request', `model_id: the harness ${named.name} ${why}.`)
}

/**
 * Throws `invalid_request` where nobody could start the agent that the run asks for: it is installed at no worker of its pool. Only
 * of agents that can be installed by us is it known.
 */
export async function requireAgent(
  db: Db,
  { name, kind }: HarnessTraits,
  place: { pool: string; environment_id?: string | undefined },
): Promise<void> {
  if (kind !== 'agent' || !(await isAgentMissing(db, name, place))) return
  throw new AppError(
    'invalid_request',
    `config.harness.type: the agent ${name} is not installed at any worker of the pool ${place.pool}. "runyard agents install ${name}" on a worker's machine installs it for all its sandboxes, within seconds; an environment whose image has it does as well.`,
  )
}

/** The harness of that name. Throws `invalid_request`, naming the field, where the installation has none. */
export function requireInstalled(
  harnesses: readonly HarnessTraits[],
  type: string,
  field: string,
): HarnessTraits {
  const found = harnesses.find(({ name }) => name === type)
  if (found) return found
  const names = harnesses.map(({ name }) => name).join(', ')
  throw new AppError(
    'invalid_request',
    `${field}: this installation has no harness "${type}"; it has ${names}.`,
  )
}
