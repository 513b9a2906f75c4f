import type { RequestPermissionRequest, RequestPermissionResponse } from '@agentclientprotocol/sdk'

/**
 * Answers an agent that asks whether it may make a call. Its sandbox is what limits it, so it may, this once. The call is in
 * the log already.
 */
export async function decidePermission({
  options,
}: RequestPermissionRequest): Promise<RequestPermissionResponse> {
  const option =
    options.find(({ kind }) => kind === 'allow_once') ?? options.find(({ kind }) => kind === 'allow_always')
  return {
    outcome: option ? { outcome: 'selected', optionId: option.optionId } : { outcome: 'cancelled' },
  }
}
