import { type RunSearch, readRunSearch } from './run-search.ts'

/** Filters that somebody has given a name. */
export interface SavedFilter {
  name: string
  search: RunSearch
}

const MOST_SAVED = 20
export const LONGEST_NAME = 40

/** Of what this browser has stored, which an earlier version or another page may have written. */
export function readSaved(text: string | null): SavedFilter[] {
  try {
    const stored: unknown = JSON.parse(text ?? '[]')
    if (!Array.isArray(stored)) return []
    return stored.flatMap((item: unknown) => readFilter(item) ?? []).slice(0, MOST_SAVED)
  } catch {
    return []
  }
}

function readFilter(item: unknown): SavedFilter | undefined {
  if (typeof item !== 'object' || item === null || !('name' in item) || !('search' in item)) return undefined
  const { name, search } = item
  if (typeof name !== 'string' || name.trim() === '' || typeof search !== 'object' || search === null)
    return undefined
  const read = readRunSearch({ ...search })
  return Object.keys(read).length > 0 ? { name: name.trim().slice(0, LONGEST_NAME), search: read } : undefined
}

/** With one more, in place of one of the same name. */
export const withFilter = (saved: readonly SavedFilter[], filter: SavedFilter): SavedFilter[] =>
  [...saved.filter(({ name }) => name !== filter.name), filter].slice(-MOST_SAVED)

export const isSameSearch = (a: RunSearch, b: RunSearch): boolean => textOf(a) === textOf(b)

const textOf = (search: RunSearch): string => JSON.stringify(Object.entries(search).sort())
