import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ModelApi } from './gateway.ts'

/** What the gateway itself answers in place of a provider. */
export interface ModelRefusal {
  status: number
  message: string
  headers?: Record<string, string>
}

/** OpenAI's and Anthropic's `type`, Google's `status`. */
const KINDS: Record<number, readonly [openai: string, anthropic: string, google: string]> = {
  400: ['invalid_request_error', 'invalid_request_error', 'INVALID_ARGUMENT'],
  401: ['authentication_error', 'authentication_error', 'UNAUTHENTICATED'],
  403: ['insufficient_quota', 'permission_error', 'PERMISSION_DENIED'],
  404: ['invalid_request_error', 'not_found_error', 'NOT_FOUND'],
  413: ['invalid_request_error', 'request_too_large', 'INVALID_ARGUMENT'],
  429: ['rate_limit_error', 'rate_limit_error', 'RESOURCE_EXHAUSTED'],
}
const FAULT = ['server_error', 'api_error', 'UNAVAILABLE'] as const

/** Answers in the shape in which the provider's clients expect errors. */
export function refuseModel(
  incoming: IncomingMessage,
  response: ServerResponse,
  api: ModelApi,
  { status, message, headers = {} }: ModelRefusal,
): void {
  incoming.resume()
  if (response.headersSent) return void response.destroy()
  const body = JSON.stringify(shape(api, status, message))
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body)
}

function shape(api: ModelApi, status: number, message: string): object {
  const [openai, anthropic, google] = KINDS[status] ?? FAULT
  if (api === 'openai') return { error: { message, type: openai, param: null, code: null } }
  if (api === 'anthropic') return { type: 'error', error: { type: anthropic, message } }
  return { error: { code: status, message, status: google } }
}
