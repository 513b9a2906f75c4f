import { PGlite } from '@electric-sql/pglite'
import { pg_trgm } from '@electric-sql/pglite/contrib/pg_trgm'
import { Kysely, PGliteDialect, PostgresDialect, type Transaction } from 'kysely'
import pg from 'pg'
import { AppError } from '../contract/error.ts'
import { type DatabaseAddress, readAddress } from './database-fault.ts'
import { StorableTexts } from './storable.ts'

const plugins = [new StorableTexts()]

/** SQL is written out with `sql` tags; Kysely gives parameters, transactions, migrations and both dialects. */
export type Db = Kysely<unknown>
export type Trx = Transaction<unknown>

/** An open database. SQL goes through `db`; `listen` hears NOTIFY, which is only ever a hint. */
export interface Store {
  db: Db
  kind: 'postgres' | 'pglite'
  /** Of PostgreSQL. */
  address?: DatabaseAddress
  /** Calls back with each payload. Reconnects by itself; what was said meanwhile is lost, so listeners also poll. */
  listen(channel: string, onPayload: (payload: string) => void): Promise<() => Promise<void>>
  close(): Promise<void>
}

export interface PostgresOptions {
  url: string
  /** Connections at most; default 10. */
  max?: number
  application_name?: string
}

export function openPostgres({ url, max = 10, application_name = 'runyard' }: PostgresOptions): Store {
  const connection = {
    // What pg makes of the other modes, and warns of at length.
    connectionString: url.replace(/([?&]sslmode=)(prefer|require|verify-ca)\b/, '$1verify-full'),
    application_name,
    keepAlive: true,
    connectionTimeoutMillis: 5_000,
  }
  const pool = new pg.Pool({
    ...connection,
    Client,
    max,
    idleTimeoutMillis: 30_000,
    statement_timeout: 30_000,
    lock_timeout: 10_000,
  })
  // A broken connection is replaced at its next use.
  pool.on('error', () => {})
  return {
    db: new Kysely<unknown>({ dialect: new PostgresDialect({ pool }), plugins }),
    kind: 'postgres',
    address: readAddress(url),
    listen: (channel, onPayload) => listenPostgres(connection, channel, onPayload),
    close: () => pool.end(),
  }
}

type Connected = (error: Error | null, client: pg.Client) => void

/** pg leaves the socket of a login that came to nothing open, and an error that nobody listens to would end the process. */
class Client extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super(config)
    this.on('error', () => {})
  }

  override connect(): Promise<pg.Client>
  override connect(callback: Connected): void
  override connect(callback?: Connected): Promise<pg.Client> | undefined {
    const connected = super.connect()
    connected.catch(() => this.end())
    if (!callback) return connected
    connected.then(
      () => callback(null, this),
      (error: Error) => callback(error, this),
    )
  }
}

/** One connection of its own: a pooled one would take its subscriptions along when it is recycled. */
async function listenPostgres(
  connection: pg.ClientConfig,
  channel: string,
  onPayload: (payload: string) => void,
): Promise<() => Promise<void>> {
  let client: pg.Client | undefined
  let closed = false
  let retry: NodeJS.Timeout | undefined
  const connect = async (): Promise<void> => {
    const next = new Client(connection)
    const again = () => {
      if (closed || client !== next) return
      client = undefined
      retry = setTimeout(connect, 1_000)
      retry.unref()
    }
    client = next
    next.on('notification', (message) => onPayload(message.payload ?? ''))
    next.on('error', again)
    next.on('end', again)
    try {
      await next.connect()
      await next.query(`listen ${pg.escapeIdentifier(channel)}`)
    } catch {
      // Away already at the start, perhaps: polling carries on meanwhile.
      again()
    }
  }
  await connect()
  return async () => {
    closed = true
    clearTimeout(retry)
    await client?.end().catch(() => {})
  }
}

/** WASI's numbers of errors, by which PGlite's file system names them in objects that are no errors. */
const FILE_ERRORS: Record<number, string> = {
  2: 'EACCES',
  19: 'EDQUOT',
  29: 'EIO',
  51: 'ENOSPC',
  63: 'EPERM',
  69: 'EROFS',
}

function toFileError(error: unknown): unknown {
  if (error instanceof Error || typeof error !== 'object' || error === null || !('errno' in error))
    return error
  const code = FILE_ERRORS[Number(error.errno)] ?? `error ${error.errno}`
  return Object.assign(new Error(`The files of the embedded database cannot be used (${code}).`), { code })
}

/** `directory` absent: in memory. The caller holds the directory's lock: PGlite has none and would lose rows. */
export async function openPglite(directory?: string): Promise<Store> {
  const pglite = await PGlite.create({
    ...(directory ? { dataDir: directory } : {}),
    extensions: { pg_trgm },
  }).catch((error: unknown) => {
    throw toFileError(error)
  })
  const db = new Kysely<unknown>({ dialect: new PGliteDialect({ pglite }), plugins })
  return {
    db,
    kind: 'pglite',
    listen: (channel, onPayload) => pglite.listen(channel, onPayload),
    close: () => db.destroy(),
  }
}

/** Logins that are refused (28, 3D000) included: a password or a database that is being changed is a kind of outage. */
const UNAVAILABLE = /^(08|53|57P0[123]|25006|28|3D000)/

/** Errors of the database that mean "away for the moment", whatever raised them. */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code } = error as { code?: unknown }
  if (typeof code === 'string') {
    if (UNAVAILABLE.test(code)) return true
    if (
      ['ECONNREFUSED', 'ECONNRESET', 'ENOENT', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN'].includes(code)
    )
      return true
  }
  return /timeout exceeded when trying to connect|connection timeout|client password must be a|Connection terminated|Cannot use a pool after|Client has encountered/.test(
    error.message,
  )
}

/** A lock that was not free in time: another request is changing the same thing. */
export const isLockTimeout = (error: unknown): boolean =>
  error instanceof Error && (error as { code?: unknown }).code === '55P03'

export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error
  if (isUnavailable(error)) {
    return new AppError('resource_unavailable', 'The database is away for the moment.', {
      headers: { 'retry-after': '2' },
      cause: error,
    })
  }
  if (isLockTimeout(error)) {
    return new AppError('conflict', 'Another request is changing this now.', { cause: error })
  }
  return new AppError('internal_error', 'The service failed to handle this request.', { cause: error })
}
