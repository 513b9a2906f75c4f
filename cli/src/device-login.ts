import { CommandFailure, certificateHint, EXIT } from './failure.ts'

/** What the user is to do, and what to wait for. */
export interface DeviceLogin {
  user_code: string
  /** Opens the page with the code. */
  url: string
  /** Resolves to the key when somebody has allowed it. */
  wait: () => Promise<string>
}

/** Asks a server for a login by its page (RFC 8628). `address`: of the server, without `/api/v1`. */
export async function beginDeviceLogin(address: string, client_name: string): Promise<DeviceLogin> {
  // Loaded here alone: no other command needs it.
  const oauth = await import('openid-client')
  const server = new oauth.Configuration(
    {
      issuer: address,
      device_authorization_endpoint: `${address}/oauth/device_authorization`,
      token_endpoint: `${address}/oauth/token`,
    },
    'runyard',
    undefined,
    oauth.None(),
  )
  if (new URL(address).protocol === 'http:') oauth.allowInsecureRequests(server)
  const explain = (error: unknown): never => {
    throw explainRefusal(error, address)
  }
  const begun = await oauth.initiateDeviceAuthorization(server, { client_name }).catch(explain)
  return {
    user_code: begun.user_code,
    url: begun.verification_uri_complete ?? begun.verification_uri,
    wait: async () => (await oauth.pollDeviceAuthorizationGrant(server, begun).catch(explain)).access_token,
  }
}

const nobodyAllowedIt = (): CommandFailure =>
  new CommandFailure('Nobody allowed the login in time.', { hint: 'ask again: it waits ten minutes' })

function explainRefusal(error: unknown, address: string): Error {
  if (!(error instanceof Error)) return new Error(String(error))
  if ('code' in error && error.code === 'OAUTH_TIMEOUT') return nobodyAllowedIt()
  if ('error' in error) {
    if (error.error === 'access_denied') return new CommandFailure('The login was refused on the page.')
    if (error.error === 'expired_token') return nobodyAllowedIt()
  }
  if (
    'status' in error ||
    'response' in error ||
    error.name === 'OperationProcessingError' ||
    error.cause instanceof Response
  )
    return new CommandFailure(`${address} does not answer as a Runyard server does.`, {
      hint: 'check the address; a server of an older version has no login: give its key by `runyard login URL --with-key`',
      cause: error,
    })
  return new CommandFailure(`${address} cannot be reached.`, {
    hint: certificateHint(error) ?? 'check the address, and whether the server runs',
    exit_code: EXIT.unreachable,
    cause: error,
  })
}
