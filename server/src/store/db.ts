import { Kysely, PostgresDialect } from 'kysely'
import type pg from 'pg'
import { type ConnectionLimits, KEEPALIVE_MS, ORDINARY, QUICK, sessionOptions } from './connection-limits.ts'
import { type DatabaseAddress, readAddress } from './database-fault.ts'
import { ConnectionPool } from './pg-pool.ts'
import { listenPostgres } from './postgres-listener.ts'
import { StatementNames } from './statement-names.ts'
import { StorableTexts } from './storable.ts'

const plugins = [new StorableTexts()]

/** SQL is written out with `sql` tags; Kysely gives parameters, transactions, migrations and both dialects. */
export type Db = Kysely<unknown>

/** `work` in a transaction: the one that `db` is, or one of its own. */
export const transact = <T>(db: Db, work: (trx: Db) => Promise<T>): Promise<T> =>
  db.isTransaction ? work(db) : db.transaction().execute(work)

/** An open database. SQL goes through `db`; `listen` hears NOTIFY, which is only ever a hint. */
export interface Store {
  /** Answers or fails within 15 seconds, a statement within 10. */
  db: Db
  /** The same database for what must succeed or fail within a worker's lease. */
  quick: Db
  kind: 'postgres' | 'pglite'
  /** Of PostgreSQL. */
  address?: DatabaseAddress
  /** Calls back with each payload. Reconnects by itself; what was said meanwhile is lost, so listeners also poll. */
  listen(channel: string, onPayload: (payload: string) => void): Promise<() => Promise<void>>
  /** Of PostgreSQL: the connections of this process, and what waits for one. */
  connections?: () => { busy: number; idle: number; waiting: number }
  /** The sessions carry this name, by which the server can be asked to end them. */
  nameSessions(name: string): void
  close(): Promise<void>
}

export interface PostgresOptions {
  /** `prepare=false` among its parameters: no statements by name, for poolers that swap sessions. */
  url: string
  /** Connections at most; default 10. */
  max?: number
  application_name?: string
  limits?: ConnectionLimits
}

export function openPostgres({
  url,
  max = 10,
  application_name = 'runyard',
  limits = ORDINARY,
}: PostgresOptions): Store {
  const { prepare, ...connection } = connectionOf(url, limits)
  const pool = new ConnectionPool(
    { ...connection, application_name, max, idleTimeoutMillis: 30_000 },
    prepare ? new StatementNames() : undefined,
  )
  const open = (own: ConnectionLimits) =>
    new Kysely<unknown>({ dialect: new PostgresDialect({ pool: pool.within(own) }), plugins })
  return {
    db: open(limits),
    quick: open(QUICK),
    kind: 'postgres',
    address: readAddress(url),
    listen: (channel, onPayload) => listenPostgres({ ...connection, application_name }, channel, onPayload),
    connections: () => pool.count(),
    nameSessions: (name) => pool.label(name),
    close: () => pool.close(),
  }
}

function connectionOf(url: string, limits: ConnectionLimits): pg.ClientConfig & { prepare: boolean } {
  const [address = '', query = ''] = url.split('?')
  const parameters = new URLSearchParams(query)
  const prepare = parameters.get('prepare') !== 'false'
  parameters.delete('prepare')
  parameters.set('options', sessionOptions(limits, parameters.get('options')))
  // What pg makes of the other modes, and warns of at length.
  if (/^(prefer|require|verify-ca)$/.test(parameters.get('sslmode') ?? ''))
    parameters.set('sslmode', 'verify-full')
  return {
    connectionString: `${address}?${parameters}`,
    prepare,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEPALIVE_MS,
    connectionTimeoutMillis: limits.connect_ms,
  }
}
