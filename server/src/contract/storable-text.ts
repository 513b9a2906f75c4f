/** Text as PostgreSQL can store it: it refuses NUL and lone surrogates, which become U+FFFD here. */
export const storableText = (text: string): string => text.toWellFormed().replaceAll('\0', '\ufffd')

/** The same for every string and key inside a JSON value, which must be free of cycles. */
export function storableJson(value: unknown): unknown {
  if (typeof value === 'string') return storableText(value)
  if (Array.isArray(value)) return value.map(storableJson)
  return isRecord(value) ? storableRecord(value) : value
}

export const storableRecord = (value: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(value).map(([key, item]) => [storableText(key), storableJson(item)]))

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
