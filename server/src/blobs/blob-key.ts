const SEGMENT = /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,200}$/

export const isSegment = (name: string): boolean => SEGMENT.test(name)

export const isBlobKey = (key: string): boolean => key.split('/').every(isSegment)

/** Throws for what is no key of a blob. */
export function segmentsOf(key: string): string[] {
  if (!isBlobKey(key)) throw new Error(`Not a blob key: ${JSON.stringify(key)}`)
  return key.split('/')
}
