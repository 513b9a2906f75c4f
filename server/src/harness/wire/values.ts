import { isRecord } from '../../contract/storable-text.ts'

/** Values as an API means them, whatever a server makes of them. */

export const asRecord = (value: unknown): Record<string, unknown> => (isRecord(value) ? value : {})

export const asList = (value: unknown): unknown[] =>
  Array.isArray(value) ? value : value == null ? [] : [value]

export const asText = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : undefined

export const isText = (value: unknown): boolean => typeof value === 'string' && value !== ''

/** `"3"` is 3. */
export function asNumber(value: unknown): number | undefined {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined
}

/** Arguments of a call come as JSON in a text; some servers send the object itself. */
export const asJsonText = (value: unknown): string =>
  typeof value === 'string' ? value : value == null ? '' : JSON.stringify(value)

/** The numbers of a count of tokens; what is none is left out. `null`: there is no count. */
export function asCounts(value: unknown): Record<string, unknown> | null {
  if (!isRecord(value)) return null
  const counts = Object.entries(value).flatMap(([key, told]): Array<[string, unknown]> => {
    if (isRecord(told)) return [[key, asCounts(told)]]
    const number = asNumber(told)
    return number === undefined ? [] : [[key, number]]
  })
  return counts.length > 0 ? Object.fromEntries(counts) : null
}

export function parsesAsRecord(text: string): boolean {
  try {
    return isRecord(JSON.parse(text))
  } catch {
    return false
  }
}
