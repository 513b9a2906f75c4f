import { MIMEType } from 'node:util'
import { AppError } from '../contract/error.ts'
import { MAX_DEPTH, MAX_TOKENS, requireSmall, tooDeep } from './body-size.ts'

const refuse = (detail: string): AppError => new AppError('invalid_request', detail)

/** Parses a JSON body strictly: UTF-8, of few parts, at most 64 levels, and nothing the database cannot keep. */
export function parseJson(bytes: Buffer, max_tokens = MAX_TOKENS): unknown {
  if (bytes.length === 0) return undefined
  requireSmall(bytes, max_tokens)
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (error) {
    if (isUtf16(bytes)) throw refuse('The body is JSON in UTF-16. Send it in UTF-8.')
    throw refuse(
      error instanceof SyntaxError ? 'The body is not valid JSON.' : 'The body is not valid UTF-8.',
    )
  }
  checkValue(value, 'The body')
  return value
}

/** With a mark of its byte order, or without: of each pair of bytes one is empty in what JSON begins with. */
const isUtf16 = ([first, second]: Buffer): boolean =>
  (first === 0xff && second === 0xfe) ||
  (first === 0xfe && second === 0xff) ||
  (first === 0 && second !== 0) ||
  (first !== 0 && second === 0)

/** JSON is UTF-8, whatever else a header may promise: read as that, other bytes would be other letters. */
export function requireUtf8(content_type = 'application/json'): void {
  const charset = new MIMEType(content_type).params.get('charset')
  if (charset === null || /^utf-?8$/i.test(charset)) return
  throw new AppError('invalid_request', 'The body must be UTF-8: leave charset out of Content-Type.', {
    status: 415,
  })
}

/** Refuses what is nested too deeply, what the database cannot keep and what could reach a prototype. */
export function checkValue(value: unknown, what: string, depth = 0): void {
  if (typeof value === 'string') checkText(value)
  if (typeof value !== 'object' || value === null) return
  if (depth >= MAX_DEPTH) throw tooDeep(what)
  if (Array.isArray(value)) {
    for (const item of value) checkValue(item, what, depth + 1)
    return
  }
  for (const [key, inner] of Object.entries(value)) {
    if (key === '__proto__') throw refuse('A field must not be called __proto__.')
    checkText(key)
    checkValue(inner, what, depth + 1)
  }
}

/** PostgreSQL stores neither in text. */
function checkText(text: string): void {
  if (text.includes('\u0000')) throw refuse('Text must not contain NUL characters.')
  if (!text.isWellFormed()) throw refuse('Text must not contain lone surrogates.')
}
