/** NUL and lone surrogates as JSON escapes them; preceded by an even number of backslashes, so not mere text about them. */
const UNSTORABLE = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f][0-9a-f]{2})/i

/** The value with U+FFFD for what PostgreSQL's jsonb refuses: NUL and lone surrogates, wherever a program printed them. */
export function storable<T>(value: T): T {
  const text = JSON.stringify(value)
  if (!UNSTORABLE.test(text)) return value
  return JSON.parse(text, (_key, inner: unknown) =>
    typeof inner === 'string' ? inner.replaceAll('\u0000', '\ufffd').toWellFormed() : inner,
  ) as T
}
