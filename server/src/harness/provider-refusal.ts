import type { ErrorCode } from '../contract/error.ts'
import type { Outcome } from './harness.ts'
import { variablesOf } from './model-variables.ts'

/** The outcome of a turn that a model call ended. */
export const modelOutcome = (
  state: 'FAILED' | 'ERROR',
  message: string,
  error_code: ErrorCode,
  retryable = false,
): Outcome => ({ state, status_message: { message, error_code, retryable } })

/** Of a refused key nothing is quoted: a provider's words may hold a part of it. */
export const keyRefused = (provider: string): Outcome =>
  modelOutcome(
    'FAILED',
    `The model provider ${provider} refused the service's API key. Set a valid one (${variablesOf(provider).key}), restart the service, then send a follow-up.`,
    'external_authentication_required',
  )

/** `said`: the end of a sentence, the provider's own words. */
export const creditGone = (provider: string, said: string): Outcome =>
  modelOutcome(
    'FAILED',
    `The model provider ${provider} says that the account has no credit left${said} Add credit at the provider, or use another account's key (${variablesOf(provider).key}).`,
    'insufficient_credits',
  )

/** It knows who asks, and does not let them. */
export const accessRefused = (provider: string, said: string): Outcome =>
  modelOutcome(
    'FAILED',
    `The model provider ${provider} does not allow this request for the service's account ${said} Allow it at the provider, or choose another model.`,
    'not_authorized',
  )

export const proxyRefused = (provider: string): Outcome =>
  modelOutcome(
    'FAILED',
    `A proxy before the model provider ${provider} asks for credentials (HTTP 407). Check ${variablesOf(provider).address} and the service's network.`,
    'external_authentication_required',
  )

/** Node's names for what is wrong with a certificate, and with what is no TLS at all. */
const UNTRUSTED = /^ERR_TLS_CERT|CERT|SELF_SIGNED|UNABLE_TO_(VERIFY|GET_ISSUER)/
const NO_TLS = /^(EPROTO|ERR_SSL_)/
const CAUSES: Readonly<Record<string, string>> = {
  ENOTFOUND: 'there is no host of that name',
  EAI_AGAIN: 'its name could not be looked up',
  ECONNREFUSED: 'nothing listens at its address',
  EHOSTUNREACH: 'there is no route to its host',
  ENETUNREACH: 'there is no route to its network',
}

/** A connection that fails in the same way until somebody changes something; `null`: it may succeed later. */
export function connectionRefused(provider: string, code: string | undefined): Outcome | null {
  if (code === undefined) return null
  const { address } = variablesOf(provider)
  const why = UNTRUSTED.test(code)
    ? `The service does not trust the certificate of the model provider ${provider} (${code}). Check ${address}; NODE_EXTRA_CA_CERTS can name a file with your own authorities.`
    : NO_TLS.test(code)
      ? `The model provider ${provider} does not speak TLS at its address (${code}). Check ${address}: it may need http in place of https.`
      : null
  return why === null ? null : modelOutcome('FAILED', why, 'integration_not_configured')
}

/** A provider that may be there again later. */
export function unreachable(provider: string, code: string | undefined): string {
  if (code === undefined) return `The model provider ${provider} could not be reached.`
  const cause = CAUSES[code]
  const why = cause ? `${cause}, ${code}` : code
  return `The model provider ${provider} could not be reached (${why}). Check ${variablesOf(provider).address}, and the network and DNS of the service.`
}

/** The name that Node gives to a fault of a connection, however deep it is; absent: it is another fault. */
export function connectionCode(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if ('code' in cause && typeof cause.code === 'string') return cause.code
  return undefined
}
