import type * as Library from '../src/index.ts'

/** One row of the table; the docstring of fault-server.ts says what each part means. */
export interface Case {
  name: string
  except?: string[]
  long?: boolean
  client?: Record<string, unknown>
  answers: unknown[]
  call: Call
  expect: {
    value?: unknown
    items?: unknown[]
    events?: unknown[]
    count?: number
    unique?: string
    error?: { class?: string; kind_of?: string[]; [field: string]: unknown }
    requests?: unknown[]
    waits_ms?: number[]
    same_header?: string[]
    new_header?: string[]
  }
}

export interface Call {
  method: string
  args?: string[]
  params?: Record<string, unknown>
  options?: Record<string, unknown>
  iterate?: 'items' | 'pages'
  raw?: 'response' | 'parsed' | 'stream'
  concurrent?: number
  proxy?: boolean
  abort_after?: 'before' | 'headers' | 'body' | 'wait' | 'stream'
  stop_after?: number
  first?: Call
  pause_ms?: number
  webhook?: Webhook
  cut_every_byte?: boolean
}

interface Webhook {
  payload: string
  age_s: number
  secret?: string
  sign_with: string[]
  signature?: string
  sent_payload?: string
  drop?: string[]
}

/** What the fault server was asked, as far as the driver looks at it. */
interface Received {
  headers: Record<string, string>
  arrived_ms: number
  state: 'received' | 'answering' | 'answered'
}

export interface Script {
  url: string
  lengths: number[]
  /** The requests, once they are as wanted or the time (ms) is over. */
  until(isThere: (received: Received[]) => boolean, within: number): Promise<Received[]>
}

export type Collected = { value: unknown } | { error: unknown }

/** Makes the call, and aborts it where the case says so. */
export async function collectCall(
  library: typeof Library,
  client: Library.Runyard,
  call: Call,
  script: Script,
): Promise<Collected> {
  if (call.first) await invoke(client, call.first, new AbortController())
  if (call.pause_ms) await new Promise((resolve) => setTimeout(resolve, call.pause_ms))
  const controller = new AbortController()
  if (call.abort_after === 'before') controller.abort()
  const collecting = invoke(client, call, controller).then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  )
  const state = { headers: 'received', body: 'answering', wait: 'answered' }[call.abort_after as string]
  if (state) {
    await script.until((received) => received.at(-1)?.state === state, 5_000)
    controller.abort()
  }
  const collected = await collecting
  const aborted =
    call.abort_after && 'error' in collected && !(collected.error instanceof library.RunyardError)
  return aborted
    ? { error: new Error('An abort gave an error of another kind.', { cause: collected.error }) }
    : collected
}

async function invoke(client: Library.Runyard, call: Call, controller: AbortController): Promise<unknown> {
  const path = call.method.split('.').map((name) => Object.keys(camelCaseKeys({ [name]: 0 }))[0] ?? '')
  const method = path.pop() ?? ''
  const owner = path.reduce<object>((object, name) => Reflect.get(object, name) as object, client)
  const invoked = Reflect.get(owner, method) as (...args: unknown[]) => unknown
  const { iterate, raw, stop_after } = call
  const result = invoked.apply(
    owner,
    call.webhook ? await signWebhook(call.webhook) : buildArguments(call, controller),
  )
  if (iterate === 'pages') return collect((result as Library.PageList<object, unknown>).pages(), stop_after)
  if (iterate === 'items') return collect(result as AsyncIterable<unknown>, stop_after)
  if (method === 'stream' || method === 'streamMany') {
    const onEvent = call.abort_after === 'stream' ? () => controller.abort() : undefined
    return collect(result as AsyncIterable<unknown>, stop_after, onEvent)
  }
  if (raw) return readRaw(result as Library.APIPromise<unknown>, raw)
  const value = await result
  return value instanceof Response ? readResponse(value) : value
}

/** `base_url` as `baseURL`; values as they are. */
export function camelCaseKeys(options: object): Record<string, unknown> {
  const rename = (name: string) =>
    name === 'base_url' ? 'baseURL' : name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
  return Object.fromEntries(Object.entries(options).map(([name, value]) => [rename(name), value]))
}

function buildArguments(call: Call, controller: AbortController): unknown[] {
  const { args = [], params, options = {} } = call
  const signal = call.abort_after ? { signal: controller.signal } : {}
  const last = { ...camelCaseKeys(revive(options) as object), ...signal }
  return [...args, ...(params ? [revive(params)] : []), ...(Object.keys(last).length > 0 ? [last] : [])]
}

/** Dates, bytes and the schema object in place of what stands for them in JSON. */
function revive(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(revive)
  if (value === null || typeof value !== 'object') return value
  if ('$date' in value) return new Date(String(value.$date))
  if ('$bytes' in value) return Uint8Array.from(atob(String(value.$bytes)), (letter) => letter.charCodeAt(0))
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      key === 'output_schema' && item === 'Answer' ? ANSWER : revive(item),
    ]),
  )
}

/** A Standard JSON Schema by hand: the driver also runs where no package can be imported. */
const ANSWER = {
  '~standard': {
    version: 1,
    vendor: 'behaviour',
    validate: (value: unknown) => {
      const fits =
        value !== null && typeof value === 'object' && 'answer' in value && Number.isInteger(value.answer)
      return fits ? { value } : { issues: [{ message: 'answer must be an integer' }] }
    },
    jsonSchema: { input: () => ANSWER_SCHEMA, output: () => ANSWER_SCHEMA },
  },
}
const ANSWER_SCHEMA = { type: 'object', properties: { answer: { type: 'integer' } }, required: ['answer'] }

async function collect(
  items: AsyncIterable<unknown>,
  stop_after = Number.POSITIVE_INFINITY,
  onItem?: () => void,
): Promise<unknown[]> {
  const collected: unknown[] = []
  for await (const item of items) {
    collected.push(item)
    onItem?.()
    if (collected.length >= stop_after) break
  }
  return collected
}

async function readRaw(
  promise: Library.APIPromise<unknown>,
  raw: 'response' | 'parsed' | 'stream',
): Promise<unknown> {
  if (raw === 'parsed') {
    const { data, response, request_id } = await promise.withResponse()
    return { status: response.status, headers: Object.fromEntries(response.headers), data, request_id }
  }
  const { text, ...rest } = await readResponse(await promise.asResponse())
  return raw === 'response' ? { ...rest, body: JSON.parse(text) as unknown } : { ...rest, text }
}

async function readResponse(response: Response) {
  let text = ''
  const decoder = new TextDecoder()
  const reader = response.body?.getReader()
  for (let piece = await reader?.read(); piece && !piece.done; piece = await reader?.read()) {
    text += decoder.decode(piece.value, { stream: true })
  }
  return { status: response.status, headers: Object.fromEntries(response.headers), text }
}

async function signWebhook(webhook: Webhook): Promise<unknown[]> {
  const { payload, sent_payload = payload, secret, drop = [] } = webhook
  const id = 'msg_1'
  const timestamp = String(Math.floor(Date.now() / 1000) - webhook.age_s)
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${payload}`)
  const signatures = await Promise.all(
    webhook.sign_with.map(async (secret) => {
      const bytes = Uint8Array.from(atob(secret.replace('whsec_', '')), (letter) => letter.charCodeAt(0))
      const key = await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, [
        'sign',
      ])
      const signature = new Uint8Array(await crypto.subtle.sign('HMAC', key, signed))
      return `v1,${btoa(String.fromCharCode(...signature))}`
    }),
  )
  const headers = {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': webhook.signature ?? signatures.join(' '),
  }
  const kept = Object.fromEntries(Object.entries(headers).filter(([name]) => !drop.includes(name)))
  return [sent_payload, kept, ...(secret ? [secret] : [])]
}
