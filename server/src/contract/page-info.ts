import { z } from 'zod'
import { wholeNumber } from './whole-number.ts'

/** How a list says whether it goes on, and where. */
export const PageInfo = z
  .object({ has_next_page: z.boolean(), next_cursor: z.string().optional() })
  .meta({ id: 'PageInfo' })
export type PageInfo = z.infer<typeof PageInfo>

export const Cursor = z
  .string()
  .max(4096)
  .meta({ description: '`next_cursor` of the page before; goes with the same order.' })

/** Of every list. */
export const MAX_PAGE = 500

/** Which page of a list, and how much of it; without a `limit` the store gives `usual`. `note`: what else ends a page. */
export const paging = (usual: number, note = '') => ({
  limit: wholeNumber(1, MAX_PAGE)
    .optional()
    .meta({ description: `1 to ${MAX_PAGE}, default ${usual}.${note && ` ${note}`}` }),
  cursor: Cursor.optional(),
})

export const pageInfo = (next_cursor: string | null): PageInfo =>
  next_cursor === null ? { has_next_page: false } : { has_next_page: true, next_cursor }
