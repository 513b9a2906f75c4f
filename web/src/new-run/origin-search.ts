interface OriginSearch {
  replay?: string
  fork?: string
  /** Of the event whose turn a fork goes on from; else the last turn. */
  sequence?: number
  /** What the form of a new run begins with. */
  environment?: string
  skill?: string
  identity?: string
}

/** The run that a new one does again, or goes on from. */
export function readOrigin(search: Record<string, unknown>): OriginSearch {
  const { replay, fork, sequence, environment, skill, identity } = search
  if (typeof replay === 'string') return { replay }
  if (typeof fork === 'string') return { fork, ...(typeof sequence === 'number' ? { sequence } : {}) }
  return {
    ...(typeof environment === 'string' ? { environment } : {}),
    ...(typeof skill === 'string' ? { skill } : {}),
    ...(typeof identity === 'string' ? { identity } : {}),
  }
}
