import type { RunForm } from './run-form.ts'

/** Where runs of one person work and with what, which is mostly the same as the last time. */
export type LastPlace = Pick<RunForm, 'environment' | 'repository' | 'ref' | 'model' | 'harness'>

const NAMES = ['environment', 'repository', 'ref', 'model', 'harness'] as const

/** Of what this browser has stored, which an earlier version or another page may have written. */
export function readLastPlace(text: string | null): LastPlace {
  const stored = parse(text)
  const textOf = (name: string): string => {
    const value = Object.hasOwn(stored, name) ? (stored as Record<string, unknown>)[name] : ''
    return typeof value === 'string' ? value.slice(0, 2_000) : ''
  }
  return Object.fromEntries(NAMES.map((name) => [name, textOf(name)])) as LastPlace
}

export const writeLastPlace = (form: RunForm): string =>
  JSON.stringify(Object.fromEntries(NAMES.map((name) => [name, form[name].trim()])))

function parse(text: string | null): object {
  try {
    const stored: unknown = JSON.parse(text ?? '{}')
    return typeof stored === 'object' && stored !== null ? stored : {}
  } catch {
    return {}
  }
}
