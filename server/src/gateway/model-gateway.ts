/**
 * Models for one sandbox: the requests of a few paths of each provider's API go on with the operator's key, which never enters
 * the sandbox, where clients have the gateway's address and a token that is worth nothing elsewhere. Answers pass as they come.
 * What they cost is read on the way, and nothing more is generated once the run's budget is spent.
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline, type Readable, Transform } from 'node:stream'
import { Unreachable } from './dial.ts'
import { watchField } from './field-watch.ts'
import type { ModelApi, ModelProvider, ModelRules, ModelUsage } from './gateway.ts'
import { createModelMeter, type ModelMeter } from './model-meter.ts'
import { type ModelRefusal, refuseModel } from './model-refusal.ts'
import { holdsToken, type ModelRequest, readModelRequest, readProvider } from './model-request.ts'
import { answeredHeaders, askModel, Silent } from './model-upstream.ts'

const MAX_BODY = 64 * 1024 ** 2
/** Requests of one sandbox at once. */
const MAX_PARALLEL = 16
/** Models that think before they answer in one piece take minutes to say the first word. */
const FIRST_WORD_MS = 600_000
const SILENT_MS = 90_000
/** Of an answer that is an error. */
const MAX_ERROR = 1024 ** 2

export interface ModelGatewayOptions {
  /** Told once for each request that generated something. */
  onUsed: (used: ModelUsage) => void
  /** How long a provider may say nothing, in milliseconds: until its answer begins, and within it. */
  first_word_ms?: number
  silent_ms?: number
}

export interface ModelGateway {
  /** Answers one request below `MODEL_PREFIX`, until the signal says that nobody waits. */
  answer(incoming: IncomingMessage, response: ServerResponse, signal: AbortSignal): Promise<void>
  /** Resolves when nothing is at work: what it has used was told. */
  idle(): Promise<void>
  /** How many tokens are left from now on; `null`: no limit. */
  limit(tokens_left: number | null): void
}

export function createModelGateway(
  { token, providers, tokens_left }: ModelRules,
  { onUsed, first_word_ms = FIRST_WORD_MS, silent_ms = SILENT_MS }: ModelGatewayOptions,
): ModelGateway {
  let left = tokens_left
  const at_work = new Set<Promise<void>>()

  const count = (used: ModelUsage): void => {
    if (left !== null) left -= used.input_tokens + used.output_tokens
    onUsed(used)
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
    if (asked.generates && left !== null && left <= 0) return SPENT
    return at_work.size >= MAX_PARALLEL ? TOO_MANY : null
  }

  const pass = async (
    incoming: IncomingMessage,
    response: ServerResponse,
    signal: AbortSignal,
    { provider, to, asked }: { provider: string; to: ModelProvider; asked: ModelRequest },
  ): Promise<void> => {
    const body = readBody(incoming, asked.unwanted)
    const call = { provider, path: asked.path, to, body: body.stream, silent_ms: first_word_ms }
    const asking = askModel(incoming, call, signal)
    asking.catch(() => {})
    const answer = await Promise.race([asking, body.failed]).catch((error) => {
      // What is given up before it is answered was worked on all the same.
      if (asked.generates && signal.aborted)
        count({
          provider,
          ...createModelMeter(to.api, true).end({ whole: false, request_bytes: body.bytes() }),
        })
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
    if (status >= 400) return passError(answer, response, to.api_key)
    const streams = /^text\/event-stream\b/i.test(answer.headers['content-type'] ?? '')
    const meter = asked.generates ? createModelMeter(to.api, streams) : null
    answer.setTimeout(silent_ms, () => answer.destroy())
    response.writeHead(status, answer.statusMessage, answeredHeaders(answer))
    // Whoever streams waits for the head.
    response.flushHeaders()
    await new Promise<void>((resolve) =>
      pipeline(answer, metered(meter), response, (error) => {
        if (meter) count({ provider, ...meter.end({ whole: !error, request_bytes: body.bytes() }) })
        resolve()
      }),
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
    const passing = pass(incoming, response, signal, { provider, to, asked }).catch((error) =>
      refuseModel(incoming, response, to.api, describe(error)),
    )
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
): { stream: Readable; bytes: () => number; failed: Promise<never> } {
  let bytes = 0
  const watch = unwanted === undefined ? null : watchField(unwanted)
  const stream = new Transform({
    transform(piece: Buffer, _encoding, done) {
      bytes += piece.length
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
  return { stream, bytes: () => bytes, failed }
}

const metered = (meter: ModelMeter | null): Transform =>
  new Transform({
    transform(piece: Buffer, _encoding, done) {
      meter?.push(piece)
      done(null, piece)
    },
  })

/** Providers quote what they do not like: the key of the operator too. */
async function passError(
  answer: IncomingMessage,
  response: ServerResponse,
  api_key: string | null,
): Promise<void> {
  const pieces: Buffer[] = []
  let bytes = 0
  answer.setTimeout(SILENT_MS, () => answer.destroy())
  for await (const piece of answer) {
    bytes += piece.length
    // Nor some of a key that the limit would cut.
    if (bytes > MAX_ERROR) throw new Unreachable('The provider answered with an error of more than a MiB.')
    pieces.push(piece)
  }
  const hide = (text: string): string => (api_key === null ? text : text.replaceAll(api_key, '***'))
  const body = Buffer.from(hide(Buffer.concat(pieces).toString('latin1')), 'latin1')
  response.writeHead(answer.statusCode ?? 502, hide(answer.statusMessage ?? ''), [
    ...answeredHeaders(answer, ['content-length']).map(hide),
    ...['Content-Length', String(body.length)],
  ])
  response.end(body)
}
