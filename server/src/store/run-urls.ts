import { createHash } from 'node:crypto'
import { type RawBuilder, sql } from 'kysely'
import { comparableUrl } from '../contract/reference-url.ts'

const hashOf = (url: string): Buffer => createHash('sha256').update(url).digest()

/** An insert that keeps what the run of `owned` is found by; what is no address of the web is left out. */
export function keepUrl(text: string): RawBuilder<unknown> {
  const url = comparableUrl(text)
  const hash = hashOf(url ?? '')
  return sql`insert into run_urls (url_hash, run_id, url)
    select ${hash}::bytea, run_id, ${url}::text from owned where ${url}::text is not null
    on conflict do nothing`
}

/** Whether the run `r` produced this address, given in the form that addresses are compared by. */
export const hasUrl = (url: string): RawBuilder<boolean> =>
  sql<boolean>`r.run_id in (select u.run_id from run_urls u where u.url_hash = ${hashOf(url)}::bytea)`
