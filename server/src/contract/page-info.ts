import { z } from 'zod'

/** How a list says whether it goes on, and where. */
export const PageInfo = z
  .object({ has_next_page: z.boolean(), next_cursor: z.string().optional() })
  .meta({ id: 'PageInfo' })
export type PageInfo = z.infer<typeof PageInfo>

export const Cursor = z
  .string()
  .max(4096)
  .meta({ description: '`next_cursor` of the page before; goes with the same order.' })

export const pageInfo = (next_cursor: string | null): PageInfo =>
  next_cursor === null ? { has_next_page: false } : { has_next_page: true, next_cursor }
