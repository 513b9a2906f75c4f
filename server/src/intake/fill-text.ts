import type { KeptPayload } from '../store/trigger-deliveries.ts'

/** `{{payload.a.b}}`, `{{payload.list.0}}`, `{{headers.x-name}}`; anything else between braces stays as it is. */
const FIELD = /\{\{\s*(payload|headers)((?:\.[^\s{}.]+)*)\s*\}\}/g

/**
 * The text with fields of what was sent in place of their names, cut to `max_bytes` of UTF-8 between two characters. Texts
 * are put in as they are, other values as JSON, and what is missing as nothing. What is put in is not filled in again.
 */
export function fillText(text: string, { headers, payload }: KeptPayload, max_bytes: number): string {
  const said = new Map<string, string>()
  const textAt = (field: string, root: string, path: string): string => {
    const known = said.get(field)
    if (known !== undefined) return known
    const names = path.split('.').slice(1)
    const value =
      root === 'payload'
        ? textOf(reach(payload, names))
        : textOf(reach(headers, names.length > 0 ? [names.join('.').toLowerCase()] : []))
    said.set(field, value)
    return value
  }
  const parts: string[] = []
  let left = max_bytes
  // A short text may name a large field often, so no more is put together than is kept.
  const add = (part: string): boolean => {
    const kept = cutBytes(part, left)
    parts.push(kept)
    left -= Buffer.byteLength(kept)
    return kept.length === part.length
  }
  let done = 0
  for (const match of text.matchAll(FIELD)) {
    const [field, root = '', path = ''] = match
    if (!add(text.slice(done, match.index)) || !add(textAt(field, root, path))) return parts.join('')
    done = match.index + field.length
  }
  add(text.slice(done))
  return parts.join('')
}

/** Own fields alone: nobody names what every object has. */
function reach(value: unknown, names: readonly string[]): unknown {
  return names.reduce<unknown>((inner, name) => {
    if (typeof inner !== 'object' || inner === null || !Object.hasOwn(inner, name)) return undefined
    return (inner as Record<string, unknown>)[name]
  }, value)
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function cutBytes(text: string, max_bytes: number): string {
  if (Buffer.byteLength(text) <= max_bytes) return text
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(max_bytes))
  return text.slice(0, read)
}
