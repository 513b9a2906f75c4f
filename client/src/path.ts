import { RunyardError } from './errors.ts'

/** Below the base URL: as it stands, perhaps with a query, or its parts, each of which is encoded. */
export type Path = string | readonly string[]

/** `/agent/runs/{run_id}/…` */
export const runPath = (run_id: string, ...rest: string[]): readonly string[] => [
  'agent',
  'runs',
  run_id,
  ...rest,
]

export function formatPath(path: Path): string {
  if (typeof path !== 'string') return path.map((part) => `/${encodePart(part)}`).join('')
  // An address would be given the key.
  if (!path.startsWith('/') || path.includes('#')) {
    throw new RunyardError(`A path begins with a slash and has no fragment: '${path}'.`)
  }
  return path
}

/** Dots would be steps to another path, and so would nothing at all. */
function encodePart(part: unknown): string {
  if (typeof part !== 'string' || part === '' || part === '.' || part === '..') {
    throw new RunyardError(`${JSON.stringify(part) ?? 'undefined'} is not an id.`)
  }
  return encodeURIComponent(part)
}
