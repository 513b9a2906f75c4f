import { type RawBuilder, sql } from 'kysely'

/**
 * A page of anything that is read at once ends with the row that reaches this. It is what the database sends and a process
 * holds, so it is counted in bytes of the rows as text, and not exact in bytes of the answer.
 */
export const PAGE_BYTES = 4 * 1024 ** 2

/** What each row of a page has besides its own columns. */
export interface Paged {
  /** Another row comes after it. */
  followed: true | null
  /** Of the rows before it. */
  bytes_before: number
}

/**
 * The first rows of a `select`, named `r` in `order` and `bytes`: at most `limit`, and no more than begin within PAGE_BYTES,
 * so that one row always fits.
 */
export const cutPage = (
  rows: RawBuilder<unknown>,
  { order, bytes, limit }: { order: RawBuilder<unknown>; bytes: RawBuilder<unknown>; limit: number },
): RawBuilder<unknown> => sql`
  select * from (
    select r.*, row_number() over page as place, lead(true) over page as followed,
      coalesce(sum(${bytes}) over (page rows between unbounded preceding and 1 preceding), 0)::double precision as bytes_before
    from (${rows} order by ${order} limit ${limit + 1}) r window page as (order by ${order})) r
  where place <= ${limit} and bytes_before < ${PAGE_BYTES}::int order by place`

export const isFollowed = (page: readonly Paged[]): boolean => page.at(-1)?.followed === true
