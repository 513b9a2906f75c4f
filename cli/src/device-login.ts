import { setTimeout as delay } from 'node:timers/promises'
import { CommandFailure, certificateHint, EXIT } from './failure.ts'
import { oneLine } from './one-line.ts'

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
  const explain = async (error: unknown): Promise<never> => {
    throw await explainRefusal(error, address)
  }
  const begun = await oauth.initiateDeviceAuthorization(server, { client_name }).catch(explain)
  const until = Date.now() + begun.expires_in * 1000
  const wait = async (): Promise<string> => {
    for (;;) {
      const expires_in = Math.ceil((until - Date.now()) / 1000)
      if (expires_in <= 0) throw nobodyAllowedIt()
      try {
        return (await oauth.pollDeviceAuthorizationGrant(server, { ...begun, expires_in })).access_token
      } catch (error) {
        // The login is kept there while the server is restarted or the way to it is cut.
        if (!mayPass(error)) return explain(error)
        await delay(PAUSE_MS)
      }
    }
  }
  return { user_code: begun.user_code, url: begun.verification_uri_complete ?? begun.verification_uri, wait }
}

/** Between two tries to reach a server that is away, besides the interval that it asks for. */
const PAUSE_MS = 1000
const MAY_PASS = [429, 500, 502, 503, 504]

/** The answer that an error is about, where there was one. */
const answerOf = ({ cause }: Error): Response | null => (cause instanceof Response ? cause : null)

function mayPass(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const answer = answerOf(error)
  if (answer) return MAY_PASS.includes(answer.status)
  // What fetch throws when nobody answers, and what the library throws when an answer takes too long.
  if ('code' in error && error.code === 'OAUTH_TIMEOUT') return true
  return error instanceof TypeError && error.message === 'fetch failed' && certificateHint(error) === null
}

const nobodyAllowedIt = (): CommandFailure =>
  new CommandFailure('Nobody allowed the login in time.', { hint: 'ask again: it waits ten minutes' })

async function explainRefusal(error: unknown, address: string): Promise<Error> {
  if (!(error instanceof Error)) return new Error(String(error))
  const answer = answerOf(error)
  if (answer && MAY_PASS.includes(answer.status))
    return new CommandFailure((await readDetail(answer)) ?? `${address} answers ${answer.status}.`, {
      ...{ hint: 'try again in a minute', exit_code: EXIT.unreachable, cause: error },
    })
  if ('error' in error) {
    if (error.error === 'access_denied') return new CommandFailure('The login was refused on the page.')
    if (error.error === 'expired_token') return nobodyAllowedIt()
  }
  if ('status' in error || 'response' in error || error.name === 'OperationProcessingError' || answer)
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

/** The sentence of a problem document (RFC 9457); `null` for any other answer. */
async function readDetail(answer: Response): Promise<string | null> {
  try {
    const { detail } = (await answer.json()) as { detail?: unknown }
    return typeof detail === 'string' && detail ? oneLine(detail) : null
  } catch {
    return null
  }
}
