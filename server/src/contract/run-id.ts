import { z } from 'zod'

/** Lower-case UUID text: what run ids look like on the wire. */
export const isUuid = (text: string): boolean => /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/.test(text)

/** Ids are case-sensitive, which `z.uuid` is not. */
export const uuid = (error: string) => z.string().refine(isUuid, error).meta({ format: 'uuid' })
export const RunId = uuid('must be a run id')
