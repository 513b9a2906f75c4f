import { isRecord } from '../../contract/storable-text.ts'

/** A provider's account of what went wrong. */
export interface ProviderWords {
  /** The innermost message: a proxy around it says only that something was refused. Empty if there is none. */
  message: string
  /** Codes, types and messages of all layers, to look for words in. */
  evidence: string
  /** The innermost status of HTTP that it names. */
  status?: number
  /** How long it asks to wait. */
  wait_ms?: number
}

/** Layers of errors in errors; more would be a game. */
const MAX_LAYERS = 8
const MAX_TITLE_CHARACTERS = 200
const MAX_PAGE_CHARACTERS = 10_000
const MAX_BODY_CHARACTERS = 2 ** 18
const MAX_EVIDENCE_CHARACTERS = 10_000
/** Where what was passed on stands, the innermost first. */
const INNER = [
  ...['metadata', 'raw', 'error', 'errors', 'detail', 'cause', 'body', 'fault', 'response', 'upstream'],
  'base_resp',
  'message',
]
const MESSAGES = [
  ...[
    'message',
    'Message',
    'msg',
    'error_message',
    'errorMessage',
    'error_msg',
    'error_description',
    'status_msg',
  ],
  ...['faultstring', 'description', 'reason', 'title'],
]
const CODES = ['code', 'type', 'status', '__type', 'error_type', 'error_code', 'status_code', 'object']
const EMPTY: Readonly<ProviderWords> = { message: '', evidence: '' }

/** Reads the body of a refusal, or an event of a stream that tells of one: JSON, JSON in text, a page, or plain text. */
export function readWords(body: string): ProviderWords {
  const words = { ...read(body.slice(0, MAX_BODY_CHARACTERS), MAX_LAYERS) }
  words.evidence = words.evidence.slice(0, MAX_EVIDENCE_CHARACTERS)
  const wait_ms = words.wait_ms ?? readWait(words.message)
  return wait_ms === undefined ? words : { ...words, wait_ms }
}

function read(told: unknown, layers: number): ProviderWords {
  if (layers === 0) return EMPTY
  if (typeof told === 'string') return readText(told.trim(), layers)
  if (Array.isArray(told)) return readList(told, layers)
  return isRecord(told) ? readLayer(told, layers) : EMPTY
}

function readText(text: string, layers: number): ProviderWords {
  if (/^([[{]\s*[\]}])?$/.test(text)) return EMPTY
  if (/^(<!doctype|<html|<\?xml|<head|<body)/i.test(text)) return readPage(text)
  const found = findJson(text)
  const inner = found === undefined ? EMPTY : read(found, layers - 1)
  if (inner.message === '') return { message: readQuoted(text) ?? text, evidence: text }
  // Not the whole: what the request had in it may be there again.
  return { ...inner, evidence: `${text.slice(0, text.search(/[{[]/))} ${inner.evidence}` }
}

/** JSON that a text is, or ends with: `400 Bad Request: {"error": …}`. */
function findJson(text: string): unknown {
  const at = text.search(/[{[]/)
  if (at < 0) return undefined
  for (const part of [
    text.slice(at),
    text.slice(at, Math.max(text.lastIndexOf('}'), text.lastIndexOf(']')) + 1),
  ])
    try {
      return JSON.parse(part)
    } catch {
      // It only looks like it.
    }
  return undefined
}

/** The last message in a dictionary as Python prints it: `{'error': {'message': '…'}}`. */
function readQuoted(text: string): string | undefined {
  const found = [...text.matchAll(/'message': (?:'((?:[^'\\]|\\.)+)'|"((?:[^"\\]|\\.)+)")/g)].at(-1)
  return found && (found[1] ?? found[2])?.replaceAll(/\\(['"\\])/g, '$1')
}

/** A page's title, or else its first heading: the rest is decoration. */
function readPage(whole: string): ProviderWords {
  const page = whole.slice(0, MAX_PAGE_CHARACTERS)
  const [, title] = /<title[^>]*>([^<]*)/i.exec(page) ?? /<h1[^>]*>([^<]*)/i.exec(page) ?? []
  const message = (title ?? '').replaceAll(/\s+/g, ' ').trim().slice(0, MAX_TITLE_CHARACTERS)
  return { message, evidence: message }
}

/** Google answers with an array where it was to stream one, FastAPI with one entry for each field that is wrong. */
function readList(list: readonly unknown[], layers: number): ProviderWords {
  const all = list.slice(0, 5).map((item) => read(item, layers - 1))
  const told = all.filter(({ message }) => message !== '')
  const [first] = told
  if (!first) return EMPTY
  const messages = [...new Set(told.map(({ message }) => message))]
  return { ...first, message: messages.join('; '), evidence: told.map(({ evidence }) => evidence).join(' ') }
}

function readLayer(layer: Record<string, unknown>, layers: number): ProviderWords {
  const inner =
    INNER.map((key) => read(innerOf(layer, key), layers - 1)).find(({ message }) => message !== '') ?? EMPTY
  const own = MESSAGES.map((key) => layer[key]).find(
    (value) => typeof value === 'string' && value.trim() !== '',
  )
  // A message may itself be JSON, or hold it.
  const said = typeof own === 'string' ? readText(own.trim(), layers - 1) : EMPTY
  const message = inner.message || withPlace(said.message, layer.loc)
  const codes = CODES.map((key) => layer[key]).filter(
    (code) => typeof code === 'string' || typeof code === 'number',
  )
  const status = inner.status ?? said.status ?? findStatus(layer)
  const wait_ms = inner.wait_ms ?? readDelays(layer)
  return {
    message,
    evidence: [...codes, said.evidence, inner.evidence].filter(Boolean).join(' '),
    ...(status !== undefined && { status }),
    ...(wait_ms !== undefined && { wait_ms }),
  }
}

/** Some say `"error": "Bad Request"` beside a message that says more, and some have the layer below as the message. */
function innerOf(layer: Record<string, unknown>, key: string): unknown {
  const value = layer[key]
  if (key === 'message') return typeof value === 'string' ? undefined : value
  const has_message = typeof layer.message === 'string' && layer.message.trim() !== ''
  return key === 'error' && typeof value === 'string' && has_message && !/^\s*\{/.test(value)
    ? undefined
    : value
}

/** FastAPI says in `loc` which field a message is about. */
const withPlace = (message: string, loc: unknown): string =>
  Array.isArray(loc) && message !== '' ? `${loc.join('.')}: ${message}` : message

/** MiniMax's codes, https://platform.minimax.io/docs/api-reference/errorcode, as statuses of HTTP. */
const MINIMAX: Readonly<Record<number, number>> = { 1002: 429, 1004: 401, 1008: 402, 2013: 400, 2049: 401 }

function findStatus({ code, status, statusCode, status_code }: Record<string, unknown>): number | undefined {
  return [code, status, statusCode, MINIMAX[Number(status_code)] ?? status_code]
    .map(Number)
    .find((number) => Number.isInteger(number) && number >= 400 && number < 600)
}

/** Google's RetryInfo, `"retryDelay": "34.07s"`, in the details of an error; others have seconds in a field. */
function readDelays({ details, retry_after, headers }: Record<string, unknown>): number | undefined {
  const delays = Array.isArray(details) ? details.filter(isRecord).map(({ retryDelay }) => retryDelay) : []
  const told = delays.find((delay) => typeof delay === 'string' || isRecord(delay))
  const seconds = isRecord(told) ? told.seconds : (told ?? retry_after)
  if (seconds !== undefined) return asWait(Number.parseFloat(String(seconds)) * 1_000)
  // OpenRouter passes on when the limit begins anew, in milliseconds since 1970.
  const reset = isRecord(headers) ? Number(headers['X-RateLimit-Reset']) : Number.NaN
  return reset > 1e12 ? asWait(reset - Date.now()) : undefined
}

const UNITS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }
const unitOf = (unit: string): number =>
  UNITS[unit.startsWith('ms') || unit.startsWith('milli') ? 'ms' : (unit[0] ?? 's')] ?? 1_000

/** `Please try again in 1m7.66s`, `retry after 20 seconds`. */
function readWait(message: string): number | undefined {
  const [, told] =
    /\b(?:try again|retry|wait)\b[^.\d]{0,30}?((?:\d+(?:\.\d+)?\s*(?:ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?)\b\s*)+|(?:\d+(?:\.\d+)?[hms]{1,2})+)/i.exec(
      message,
    ) ?? []
  if (told === undefined) return undefined
  const parts = [...told.toLowerCase().matchAll(/(\d+(?:\.\d+)?)\s*([a-z]+)/g)]
  return asWait(parts.reduce((sum, [, number, unit = 's']) => sum + Number(number) * unitOf(unit), 0))
}

const asWait = (milliseconds: number): number | undefined =>
  Number.isFinite(milliseconds) ? Math.max(0, Math.ceil(milliseconds)) : undefined
