import { randomUUID } from 'node:crypto'
import { storableText } from '../contract/storable-text.ts'
import type { MaskText } from './cut-text.ts'

const MAX_DEPTH = 64

/** What stands in the place of an input that is too deep. */
export const TOO_DEEP = `Nested more than ${MAX_DEPTH} levels deep.`

/** Everything that reads an input goes down into it, and a stack ends somewhere. */
export const isTooDeep = (value: unknown): boolean => isDeeper(value, MAX_DEPTH)

const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((item) => isDeeper(item, levels - 1)))

/** An id for a call that is not yet in `taken`, and is added to it: `theirs` where that can be; not every agent's are unique. */
export function makeCallId(theirs: string, taken: Set<string>, mask: MaskText): string {
  // Ids are kept as they are; one that a secret value stands in is replaced by one of ours.
  const given = mask(theirs) === theirs ? storableText(theirs) : randomUUID()
  let id = given
  for (let n = 2; taken.has(id); n += 1) id = `${given}-${n}`
  taken.add(id)
  return id
}
