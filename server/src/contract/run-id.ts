import { z } from 'zod'

/** Lower-case UUID text: what run ids look like on the wire. */
export const isUuid = (text: string): boolean => /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/.test(text)

/** Ids are case-sensitive, which `z.uuid` is not. */
export const uuid = (error: string) => z.string().refine(isUuid, error).meta({ format: 'uuid' })
export const RunId = uuid('must be a run id')

const LOWEST = '00000000-0000-0000-0000-000000000000'
const HIGHEST = 'ffffffff-ffff-ffff-ffff-ffffffffffff'

/** The first and the last id that begin with this text. */
export const idsBeginningWith = (prefix: string): [lowest: string, highest: string] => [
  prefix + LOWEST.slice(prefix.length),
  prefix + HIGHEST.slice(prefix.length),
]

export const RunIdPrefix = z
  .string()
  .min(1)
  .max(36)
  .refine((text) => idsBeginningWith(text).every(isUuid), 'must be the beginning of a run id')

/** People are shown the end of an id, which is random; its beginning is the time, so runs of one minute share it. */
const SHORTEST_ENDING = 6
export const RunIdEnding = z
  .string()
  .min(SHORTEST_ENDING)
  .max(36)
  .refine((text) => isUuid(LOWEST.slice(0, 36 - text.length) + text), 'must be the end of a run id')

/** `/sessions/…` is a run's page, `/agent/runs/…` its address in the API; other services of the wire format use the same words. */
const RUN_PATH = /\/(?:runs|sessions)\/([0-9a-f-]{36})(?=$|\/)/i

/** The run that a whole id or an address names; `null` if the text is neither. */
export function runIdIn(text: string): string | null {
  const trimmed = text.trim()
  const named = /^https?:\/\//i.test(trimmed)
    ? RUN_PATH.exec(URL.parse(trimmed)?.pathname ?? '')?.[1]
    : trimmed
  const id = named?.toLowerCase() ?? ''
  return isUuid(id) ? id : null
}
