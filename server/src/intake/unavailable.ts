import { AppError } from '../contract/error.ts'
import type { RunAgentRequest, RunFollowupRequest } from '../contract/run-request.ts'

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

function fieldsOf(request: RunAgentRequest & RunFollowupRequest): string[] {
  const { mode = 'normal', on_behalf_of, output_schema, config } = request
  const harness = config?.harness?.type ?? 'oz'
  return [
    ...(mode === 'normal' ? [] : [`mode: ${mode}`]),
    ...(on_behalf_of === undefined ? [] : ['on_behalf_of']),
    ...(output_schema && harness === 'runbook' ? [`output_schema with the harness ${harness}`] : []),
  ]
}

function configFieldsOf(config: RunAgentRequest['config'] = {}): string[] {
  const { computer_use_enabled, harness_auth_secrets = {}, permissions = [], harness } = config
  const rules = permissions.some(({ action }) => action !== 'allow')
  return [
    ...(computer_use_enabled ? ['config.computer_use_enabled'] : []),
    ...(rules && harness?.type === 'runbook' ? ['config.permissions with the harness runbook'] : []),
    ...(Object.keys(harness_auth_secrets).length > 0 ? ['config.harness_auth_secrets'] : []),
  ]
}
