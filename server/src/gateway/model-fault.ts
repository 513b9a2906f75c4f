/** Of what a provider says of its failure. */
const MAX_CHARACTERS = 4_096

/**
 * What a part of an answer says that it failed with, though its status was a success: providers that fail in the middle of a stream
 * have no other way left. The provider's words, in the shape `{"error": {"message", "code", "type"}}`; `null`: it says nothing of
 * the kind.
 */
export function readFault(part: unknown): string | null {
  if (!isObject(part)) return null
  const { type, object, error, response } = part
  // Anthropic, OpenAI's chat and Google have it in a field, and some servers as a text there.
  if (isObject(error)) return write(error)
  if (typeof error === 'string' && error !== '') return write({ message: error })
  // OpenAI's responses say it as an event of its own, or of the response that failed; vLLM as an object of its own.
  if (type === 'error' || object === 'error') return write({ ...part, type: undefined })
  if (type === 'response.failed' && isObject(response) && isObject(response.error))
    return write(response.error)
  return null
}

/** What a line has that holds a fault, and what few others have. */
export const MAY_BE_FAULT = /"error"|"response\.failed"/

function write({ message, code, type, status }: Record<string, unknown>): string {
  const kept = { message, code, type: type ?? status }
  const told = Object.entries(kept).flatMap(([name, value]) => {
    if (typeof value === 'number') return [[name, value]]
    return typeof value === 'string' ? [[name, value.slice(0, MAX_CHARACTERS)]] : []
  })
  return JSON.stringify({ error: Object.fromEntries(told) })
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
