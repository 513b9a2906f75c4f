import { AppError } from '../contract/error.ts'

/** Of what is not attachments: they are a few long strings, whose length costs next to nothing. */
const MAX_BYTES = 2 * 1024 ** 2
/** What counts of a string, or of a part of one between two quotes, so that a few long ones are nothing beside the limit. */
const COUNTED_OF_A_STRING = 4 * 1024
/** Checking a field by the contract takes ten times what parsing it does; nobody's request has a tenth of these. */
export const MAX_TOKENS = 20_000
/** Payloads of hooks are kept as they come, and those of git hosts name each file of a push. */
export const MAX_HOOK_TOKENS = 100_000
export const MAX_DEPTH = 64

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPENING = [...Buffer.from('[{')]
const CLOSING = [...Buffer.from(']}')]
const SEPARATING = [...Buffer.from(',:')]

interface Seen {
  bytes: number
  tokens: number
  depth: number
}

/**
 * Refuses what would take long to parse and to check, by one pass over the bytes: a body of many small values costs a
 * hundred times what one of the same size with long strings does. It need not be valid JSON: up to its first error a parser
 * sees the same strings.
 */
export function requireSmall(body: Buffer, max_tokens: number): void {
  const seen: Seen = { bytes: 0, tokens: 0, depth: 0 }
  let inside = false
  for (let at = 0; at < body.length; ) {
    const quote = body.indexOf(QUOTE, at)
    const end = quote === -1 ? body.length : quote
    countBytes(seen, 1 + (inside ? Math.min(end - at, COUNTED_OF_A_STRING) : end - at))
    if (!inside) countTokens(seen, body.subarray(at, end), max_tokens)
    inside = !inside || isEscaped(body, at, end)
    at = end + 1
  }
}

function countBytes(seen: Seen, bytes: number): void {
  seen.bytes += bytes
  if (seen.bytes <= MAX_BYTES) return
  const detail = 'The body is over 2 MiB, even without the data of attachments.'
  throw new AppError('invalid_request', detail, { status: 413 })
}

function countTokens(seen: Seen, between: Uint8Array, max_tokens: number): void {
  for (const byte of between) {
    if (OPENING.includes(byte)) {
      seen.tokens += 1
      seen.depth += 1
      if (seen.depth > MAX_DEPTH) throw tooDeep('The body')
    } else if (CLOSING.includes(byte)) seen.depth -= 1
    else if (SEPARATING.includes(byte)) seen.tokens += 1
  }
  if (seen.tokens <= max_tokens) return
  throw new AppError('invalid_request', 'The body has too many fields and items.', { status: 413 })
}

export const tooDeep = (what: string): AppError =>
  new AppError('invalid_request', `${what} is nested too deeply: at most ${MAX_DEPTH} levels.`)

/** Whether the byte is preceded by an odd number of backslashes; none before `begin` belongs to it. */
function isEscaped(body: Buffer, begin: number, place: number): boolean {
  let before = place
  while (before > begin && body[before - 1] === BACKSLASH) before -= 1
  return (place - before) % 2 === 1
}
