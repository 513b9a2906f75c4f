import type { PostgresCursor, PostgresPool, PostgresPoolClient, PostgresQueryResult } from 'kysely'
import pg from 'pg'
import type { ConnectionLimits } from './connection-limits.ts'
import { Client, SilentConnection } from './pg-client.ts'
import type { StatementNames } from './statement-names.ts'

/** Connections in use when the pool is closed are given so long to end their statements. */
const CLOSE_MS = 1_000

/**
 * pg's pool, whose connections die of silence: one that does not answer in time is cut, and with it those that wait for
 * work, since they go the same way. Asked one after the other, each would cost a request its whole limit.
 */
export class ConnectionPool {
  readonly #pool: pg.Pool
  readonly #names: StatementNames | undefined
  readonly #idle = new Set<Client>()
  readonly #all = new Set<Client>()
  #label: string | undefined

  constructor(config: pg.PoolConfig, names: StatementNames | undefined) {
    this.#names = names
    const all = this.#all
    this.#pool = new pg.Pool({
      ...config,
      // Those that still connect included: a silent one would hold up the end of the pool.
      Client: class extends Client {
        constructor(own?: pg.ClientConfig) {
          super(own)
          all.add(this)
          this.once('end', () => all.delete(this))
        }
      },
    })
    // A broken connection is replaced at its next use.
    this.#pool.on('error', () => {})
    this.#pool.on('acquire', (client) => client instanceof Client && this.#idle.delete(client))
    this.#pool.on('release', (_, client) => client instanceof Client && this.#idle.add(client))
    this.#pool.on('remove', (client) => client instanceof Client && this.#idle.delete(client))
  }

  /** From its next statement on, each connection carries this name in `pg_stat_activity`. */
  label(name: string): void {
    this.#label = name
  }

  count(): { busy: number; idle: number; waiting: number } {
    const { totalCount, idleCount, waitingCount } = this.#pool
    return { busy: totalCount - idleCount, idle: idleCount, waiting: waitingCount }
  }

  /** The pool as Kysely takes it. All of them share the connections; each has its own patience. */
  within(limits: ConnectionLimits): PostgresPool {
    return {
      options: this.#pool.options,
      connect: () => this.#take(limits),
      end: () => this.close(),
    }
  }

  /** Waits a little for statements on their way and for goodbyes; none holds it up. */
  async close(): Promise<void> {
    const ended = [...this.#all].map((client) => new Promise((resolve) => client.once('end', resolve)))
    const timer = setTimeout(() => {
      for (const client of this.#all) client.cut()
    }, CLOSE_MS)
    await Promise.all([this.#pool.end(), ...ended]).finally(() => clearTimeout(timer))
  }

  async #take(limits: ConnectionLimits): Promise<PostgresPoolClient> {
    const client = await inTime(this.#pool.connect(), limits.connect_ms)
    if (!(client instanceof Client)) throw new Error('The pool holds connections of another kind.')
    const lent = new LentClient(client, (text, values) => this.#ask(client, text, values, limits))
    try {
      if (this.#label !== client.label) await this.#relabel(client, limits)
      return lent
    } catch (error) {
      lent.release(true)
      throw error
    }
  }

  async #relabel(client: Client, limits: ConnectionLimits): Promise<void> {
    const label = this.#label
    await this.#ask(client, `select set_config('application_name', $1, false)`, [label], limits)
    client.label = label
  }

  async #ask(
    client: Client,
    text: string,
    values: readonly unknown[],
    { statement_ms }: ConnectionLimits,
  ): Promise<pg.QueryResult> {
    try {
      return await client.ask(text, values, { limit_ms: statement_ms, names: this.#names })
    } catch (error) {
      if (error instanceof SilentConnection) for (const idle of this.#idle) idle.cut()
      throw error
    }
  }
}

/** Late is too late, but what comes then goes back. */
async function inTime(connecting: Promise<pg.PoolClient>, limit_ms: number): Promise<pg.PoolClient> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    late.reject(new Error('timeout exceeded when trying to connect'))
    connecting.then(
      (client) => client.release(),
      () => {},
    )
  }, limit_ms)
  return await Promise.race([connecting, late.promise]).finally(() => clearTimeout(timer))
}

type Ask = (text: string, values: readonly unknown[]) => Promise<pg.QueryResult>

/** A connection while somebody uses it, as Kysely takes it. */
class LentClient implements PostgresPoolClient {
  readonly #client: Client & pg.PoolClient
  readonly #ask: Ask

  constructor(client: Client & pg.PoolClient, ask: Ask) {
    this.#client = client
    this.#ask = ask
  }

  query<R>(text: string, parameters: ReadonlyArray<unknown>): Promise<PostgresQueryResult<R>>
  query<R>(cursor: PostgresCursor<R>): PostgresCursor<R>
  query<R>(what: string | PostgresCursor<R>, parameters: ReadonlyArray<unknown> = []): unknown {
    if (typeof what !== 'string') throw new Error('The store reads without cursors.')
    return this.#ask(what, parameters)
  }

  release(destroy = false): void {
    this.#client.release(destroy || this.#client.spent)
  }
}
