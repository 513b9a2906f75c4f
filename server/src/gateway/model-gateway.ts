/**
 * Models for one sandbox: the requests of a few paths of each provider's API go on with the operator's key, which never enters
 * the sandbox, where clients have the gateway's address and a token that is worth nothing elsewhere. Answers pass as they come.
 * What they cost is read on the way, and nothing more is generated once the run's budget is spent.
 */

import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline, type Readable, Transform } from 'node:stream'
import { Unreachable } from './dial.ts'
import { watchField } from './field-watch.ts'
import type {
  ModelApi,
  ModelCallFailure,
  ModelCallState,
  ModelListener,
  ModelProvider,
  ModelRules,
  ModelUsage,
} from './gateway.ts'
import { createModelMeter, type ModelMeter } from './model-meter.ts'
import { type ModelRefusal, refuseModel } from './model-refusal.ts'
import { holdsToken, type ModelRequest, readModelRequest, readProvider } from './model-request.ts'
import { answeredHeaders, askModel, Silent } from './model-upstream.ts'

const MAX_BODY = 64 * 1024 ** 2
/** Requests of one sandbox at once. */
const MAX_PARALLEL = 16
const SILENT_MS = 90_000
/** Models that think before they answer in one piece take minutes to say the first word. */
const WHOLE_ANSWER_MS = 600_000
/** Of an answer that is an error; and what is told of it. */
const MAX_ERROR = 1024 ** 2
const MAX_TOLD = 4_096

export interface ModelGateway {
  /** Answers one request below `MODEL_PREFIX`, until the signal says that nobody waits. */
  answer(incoming: IncomingMessage, response: ServerResponse, signal: AbortSignal): Promise<void>
  /** Resolves when nothing is at work: what it has used was told. */
  idle(): Promise<void>
  /** How many tokens are left from now on; `null`: no limit. */
  limit(tokens_left: number | null): void
}

export function createModelGateway(
  { token, providers, tokens_left, silent_ms = SILENT_MS }: ModelRules,
  { onUsed, onCall }: ModelListener,
): ModelGateway {
  let left = tokens_left
  /** Tokens of requests that were given up before anything was answered: nobody knows whether they were used. */
  let given_up = 0
  const at_work = new Set<Promise<void>>()

  const count = (used: ModelUsage): void => {
    if (left !== null) left -= used.input_tokens + used.output_tokens
    onUsed(used)
  }

  /** It may have been worked on all the same: whoever gives up request after request comes to the end of the budget. */
  const giveUp = (api: ModelApi, request_bytes: number): void => {
    given_up += createModelMeter(api, true).end({ whole: false, request_bytes }).input_tokens
  }

  const judge = (
    incoming: IncomingMessage,
    api: ModelApi,
    asked: ModelRequest | null,
  ): ModelRefusal | null => {
    if (!holdsToken(api, incoming, token)) return NO_TOKEN
    if (!asked) return NO_ROUTE
    if (Number(incoming.headers['content-length'] ?? 0) > MAX_BODY) return TOO_LARGE
    if (incoming.headers['content-encoding'] !== undefined) return COMPRESSED
    if (asked.generates && left !== null && left - given_up <= 0) return SPENT
    return at_work.size >= MAX_PARALLEL ? TOO_MANY : null
  }

  const pass = async (
    incoming: IncomingMessage,
    response: ServerResponse,
    signal: AbortSignal,
    { provider, to, asked }: { provider: string; to: ModelProvider; asked: ModelRequest },
  ): Promise<ModelCallState> => {
    const body = readBody(incoming, asked.unwanted)
    const first_word_ms = () =>
      asked.streams || body.streams() ? silent_ms : Math.max(silent_ms, WHOLE_ANSWER_MS)
    const { path, version } = asked
    const call = { provider, path, version, to, body: body.stream, silent_ms: first_word_ms }
    const asking = askModel(incoming, call, signal)
    asking.catch(() => {})
    const answer = await Promise.race([asking, body.failed]).catch((error) => {
      if (asked.generates && signal.aborted) giveUp(to.api, body.bytes())
      throw error
    })
    const status = answer.statusCode ?? 502
    if (status >= 300 && status < 400) {
      answer.destroy()
      throw new Unreachable(`The provider ${provider} answered with a redirect (status ${status}).`)
    }
    if (!/^(identity)?$/i.test(answer.headers['content-encoding'] ?? '')) {
      answer.destroy()
      // Neither what it cost could be read, nor a key that it quotes.
      throw new Unreachable(`The provider ${provider} answered compressed, though it was asked not to.`)
    }
    if (status >= 400) return passError(answer, response, to.api_key, silent_ms)
    const streams = /^text\/event-stream\b/i.test(answer.headers['content-type'] ?? '')
    const meter = asked.generates ? createModelMeter(to.api, streams, asked.is_silent) : null
    let said = false
    let broke: ModelCallState | null = null
    answer.setTimeout(silent_ms, () => {
      broke ??= { state: 'failed', failure: { type: 'silent', silent_ms } }
      answer.destroy()
    })
    answer.once('error', () => {
      if (!signal.aborted) broke ??= { state: 'failed', failure: { type: 'broken_off' } }
    })
    response.writeHead(status, answer.statusMessage, answeredHeaders(answer))
    // Whoever streams waits for the head.
    response.flushHeaders()
    return new Promise<ModelCallState>((resolve) =>
      pipeline(
        answer,
        metered(meter, () => (said = true)),
        response,
        (error) => {
          const request_bytes = body.bytes()
          if (meter && (said || !error)) count({ provider, ...meter.end({ whole: !error, request_bytes }) })
          else if (meter && !broke) giveUp(to.api, request_bytes)
          const failure =
            meter && findFailure(meter, answer, { is_empty: !said && !error, api_key: to.api_key })
          if (failure) resolve({ state: 'failed', failure })
          else resolve(error ? (broke ?? { state: 'given_up' }) : { state: 'answered' })
        },
      ),
    )
  }

  const answer: ModelGateway['answer'] = async (incoming, response, signal) => {
    const provider = readProvider(incoming.url ?? '')
    const to = Object.hasOwn(providers, provider) ? providers[provider] : undefined
    if (!to)
      return refuseModel(incoming, response, apiNamed(provider), {
        status: 404,
        message: `There is no such provider here; there is ${Object.keys(providers).join(', ')}.`,
      })
    const asked = readModelRequest(to.api, incoming)
    const refusal = judge(incoming, to.api, asked)
    if (refusal || !asked) return refuseModel(incoming, response, to.api, refusal ?? NO_ROUTE)
    const id = randomUUID()
    const tell = (call: ModelCallState): void => {
      if (asked.generates) onCall({ id, provider, ...call })
    }
    tell({ state: 'began' })
    const passing = pass(incoming, response, signal, { provider, to, asked })
      .catch((error): ModelCallState => {
        refuseModel(incoming, response, to.api, describe(error))
        return signal.aborted ? { state: 'given_up' } : describeEnd(error)
      })
      .then(tell)
    at_work.add(passing)
    await passing.finally(() => at_work.delete(passing))
  }
  return {
    answer,
    async idle() {
      await Promise.allSettled(at_work)
    },
    limit(tokens_left) {
      left = tokens_left
    },
  }
}

/** In whose words a client expects to hear that a provider is not there. */
const apiNamed = (provider: string): ModelApi =>
  provider === 'anthropic' || provider === 'google' ? provider : 'openai'

const NO_TOKEN: ModelRefusal = {
  status: 401,
  message: 'The model gateway takes the token of this run, which its commands have as their API key.',
}
const NO_ROUTE: ModelRefusal = { status: 404, message: 'The model gateway does not pass this on.' }
const TOO_LARGE: ModelRefusal = {
  status: 413,
  message: 'The request is over 64 MiB.',
  headers: { connection: 'close' },
}
const NO_OBJECT: ModelRefusal = {
  status: 400,
  message: 'The body of the request is no JSON object in UTF-8.',
}
const COMPRESSED: ModelRefusal = {
  status: 415,
  message: 'The model gateway takes requests that are not compressed (Content-Encoding).',
}
const SPENT: ModelRefusal = {
  status: 403,
  message: 'The run has spent its budget of tokens (budget.max_tokens): it may call no model any more.',
}
const TOO_MANY: ModelRefusal = {
  status: 429,
  message: `${MAX_PARALLEL} requests of this run are at work already.`,
  headers: { 'retry-after': '1' },
}

function describe(error: unknown): ModelRefusal {
  if (error instanceof NotTaken) return error.refusal
  if (error instanceof Silent) return { status: 504, message: error.message }
  return {
    status: 502,
    message: error instanceof Unreachable ? error.message : 'The request could not be passed on.',
  }
}

function describeEnd(error: unknown): ModelCallState {
  if (error instanceof Silent)
    return { state: 'failed', failure: { type: 'silent', silent_ms: error.silent_ms } }
  if (error instanceof Unreachable)
    return { state: 'failed', failure: { type: 'unreachable', message: error.message, ...codeOf(error) } }
  return error instanceof NotTaken
    ? { state: 'given_up' }
    : { state: 'failed', failure: { type: 'broken_off' } }
}

function codeOf({ cause }: Unreachable): { code?: string } {
  return cause instanceof Error && 'code' in cause ? { code: String(cause.code) } : {}
}

/** A request that is refused for its body. */
class NotTaken extends Error {
  readonly refusal: ModelRefusal
  constructor(refusal: ModelRefusal) {
    super(refusal.message)
    this.refusal = refusal
  }
}

/**
 * `failed` rejects with `NotTaken` where the body is too long, or holds what is unwanted: the provider never gets the whole of
 * it then, and who sent it can still read the answer.
 */
function readBody(
  incoming: IncomingMessage,
  unwanted: string | undefined,
): { stream: Readable; bytes: () => number; streams: () => boolean; failed: Promise<never> } {
  let bytes = 0
  const watchStream = watchField('stream')
  let streams = false
  const watch = unwanted === undefined ? null : watchField(unwanted)
  const stream = new Transform({
    transform(piece: Buffer, _encoding, done) {
      bytes += piece.length
      streams = watchStream(piece) === 'found'
      const sight = watch?.(piece) ?? 'clear'
      if (bytes > MAX_BODY) done(new NotTaken(TOO_LARGE))
      else if (sight === 'unreadable') done(new NotTaken(NO_OBJECT))
      else if (sight === 'found')
        done(new NotTaken({ status: 400, message: `The model gateway does not pass on: ${unwanted}.` }))
      else done(null, piece)
    },
  })
  incoming.pipe(stream)
  const failed = new Promise<never>((_, reject) =>
    stream.once('error', (error) => {
      incoming.unpipe(stream)
      reject(error)
    }),
  )
  failed.catch(() => {})
  return { stream, bytes: () => bytes, streams: () => streams, failed }
}

const metered = (meter: ModelMeter | null, onPiece: () => void): Transform =>
  new Transform({
    transform(piece: Buffer, _encoding, done) {
      onPiece()
      meter?.push(piece)
      done(null, piece)
    },
  })

/** Of proxies and sign-ins: no provider answers so. */
const IS_PAGE = /^text\/(html|xml)\b/i

/** Of an answer whose status was a success. */
function findFailure(
  meter: ModelMeter,
  { statusCode: status = 200, headers }: IncomingMessage,
  { is_empty, api_key }: { is_empty: boolean; api_key: string | null },
): ModelCallFailure | null {
  const fault = meter.fault()
  if (fault !== null) return brokenOff(fault, api_key)
  const content_type = headers['content-type'] ?? ''
  return is_empty || IS_PAGE.test(content_type)
    ? { type: 'unreadable', status, content_type, is_empty }
    : null
}

/** Providers quote what they do not like: the key of the operator too. */
const hideKey = (text: string, api_key: string | null): string =>
  api_key === null ? text : text.replaceAll(api_key, '***')

const brokenOff = (fault: string, api_key: string | null): ModelCallFailure => ({
  type: 'broken_off',
  body: hideKey(fault, api_key),
})

async function passError(
  answer: IncomingMessage,
  response: ServerResponse,
  api_key: string | null,
  silent_ms: number,
): Promise<ModelCallState> {
  const pieces: Buffer[] = []
  let bytes = 0
  answer.setTimeout(silent_ms, () => answer.destroy())
  for await (const piece of answer) {
    bytes += piece.length
    // Nor some of a key that the limit would cut.
    if (bytes > MAX_ERROR) throw new Unreachable('The provider answered with an error of more than a MiB.')
    pieces.push(piece)
  }
  const hide = (text: string): string => hideKey(text, api_key)
  const body = Buffer.from(hide(Buffer.concat(pieces).toString('latin1')), 'latin1')
  const status = answer.statusCode ?? 502
  response.writeHead(status, hide(answer.statusMessage ?? ''), [
    ...answeredHeaders(answer, ['content-length']).map(hide),
    ...['Content-Length', String(body.length)],
  ])
  response.end(body)
  const headers = Object.fromEntries(
    ['retry-after', 'retry-after-ms'].flatMap((name) => {
      const value = answer.headers[name]
      return typeof value === 'string' ? [[name, value.slice(0, 100)]] : []
    }),
  )
  return {
    state: 'failed',
    failure: { type: 'refused', status, headers, body: body.toString('utf8', 0, MAX_TOLD) },
  }
}
