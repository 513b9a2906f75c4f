import { Kysely, PostgresDialect } from 'kysely'
import type pg from 'pg'
import { AppError } from '../contract/error.ts'
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

/**
 * A session that the server ended for standing still in a transaction (25P03) included, and logins that are refused
 * (28, 3D000): a password or a database that is being changed is a kind of outage.
 */
const UNAVAILABLE = /^(08|53|57P0[1235]|25006|25P03|28|3D000)/

/** Errors of the database that mean "away for the moment", whatever raised them. */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code, syscall } = error as { code?: unknown; syscall?: unknown }
  if (typeof code === 'string') {
    if (UNAVAILABLE.test(code)) return true
    if (['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN'].includes(code))
      return true
    // Of a socket in a directory; any other file that is not there is no sign of the database.
    if (code === 'ENOENT' && syscall === 'connect') return true
  }
  return /timeout exceeded when trying to connect|connection timeout|client password must be a|Connection terminated|Cannot use a pool after|Client has encountered/.test(
    error.message,
  )
}

/** Cut short by the server: statement timeout, serialization failure, deadlock. */
const CUT_SHORT = new Set<unknown>(['57014', '40001', '40P01'])

export const isCutShort = (error: unknown): boolean =>
  error instanceof Error && CUT_SHORT.has((error as { code?: unknown }).code)

/** A lock that was not free in time: another request is changing the same thing. */
export const isLockTimeout = (error: unknown): boolean =>
  error instanceof Error && (error as { code?: unknown }).code === '55P03'

/** Data exceptions, violated constraints and what is beyond a limit of the database: the value is refused, now and later. */
const REFUSED = /^(22|23|54)/

export const refusesValue = (error: unknown): boolean =>
  error instanceof Error && REFUSED.test(String((error as { code?: unknown }).code))

const DISK_FULL =
  'The disk of the database is full: nothing new can be stored before somebody frees some space there.'

/** PostgreSQL's word for it, the embedded one's too. */
const isDiskFull = (error: unknown): boolean =>
  error instanceof Error && (error as { code?: unknown }).code === '53100'

/** A row about a run was to be stored just when the run was deleted. */
const namesNoRun = (error: unknown): boolean => {
  const { code, constraint } = (error ?? {}) as { code?: unknown; constraint?: unknown }
  return code === '23503' && /_run_id_fkey$/.test(String(constraint))
}

export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error
  if (namesNoRun(error))
    return new AppError('resource_not_found', 'There is no run with this id.', { cause: error })
  if (isDiskFull(error)) {
    return new AppError('resource_unavailable', DISK_FULL, { headers: { 'retry-after': '2' }, cause: error })
  }
  if (isUnavailable(error)) {
    return new AppError('resource_unavailable', 'The database is away for the moment.', {
      headers: { 'retry-after': '2' },
      cause: error,
    })
  }
  if (isCutShort(error)) {
    return new AppError('resource_unavailable', 'The database took too long.', {
      headers: { 'retry-after': '2' },
      cause: error,
    })
  }
  if (isLockTimeout(error)) {
    return new AppError('conflict', 'Another request is changing this now.', { cause: error })
  }
  return new AppError('internal_error', 'The service failed to handle this request.', { cause: error })
}
