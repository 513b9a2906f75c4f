import pg from 'pg'
import { isStaleName, type StatementNames } from './statement-names.ts'

type Connected = (error: Error | null, client: pg.Client) => void

/** The connection was cut: nothing was heard on it in time. What was asked may be carried out all the same. */
export class SilentConnection extends Error {
  readonly code = 'ETIMEDOUT'
  constructor() {
    super('PostgreSQL did not answer a statement in time.')
  }
}

/** SQLSTATE of a broken connection: whoever hears it begins again on another. */
const staleError = (cause: unknown): Error =>
  Object.assign(new Error('A prepared statement of this connection is no longer good.', { cause }), {
    code: '08006',
  })

/** A connection that says when it is dead. */
export class Client extends pg.Client {
  /** The `application_name` of its session, where it was changed. */
  label: string | undefined
  /** Not to be used again. */
  spent = false

  constructor(config?: string | pg.ClientConfig) {
    super(config)
    // An error that nobody listens to would end the process.
    this.on('error', () => {})
  }

  override connect(): Promise<pg.Client>
  override connect(callback: Connected): void
  override connect(callback?: Connected): Promise<pg.Client> | undefined {
    const connected = super.connect()
    // pg leaves the socket of a login that came to nothing open.
    connected.catch(() => this.end())
    if (!callback) return connected
    connected.then(
      () => callback(null, this),
      (error: Error) => callback(error, this),
    )
  }

  /**
   * One statement. Not answered within `limit_ms`, the connection is cut: pg's own `query_timeout` gives up the statement
   * and keeps the connection, where every further statement would wait behind the first.
   */
  async ask(
    text: string,
    values: readonly unknown[],
    { limit_ms, names }: { limit_ms?: number | undefined; names?: StatementNames | undefined },
  ): Promise<pg.QueryResult> {
    const timer = limit_ms === undefined ? undefined : setTimeout(() => this.cut(), limit_ms)
    const name = values.length > 0 ? names?.find(text) : undefined
    try {
      if (!name) return await this.query(text, [...values])
      try {
        return await this.query({ name, text, values: [...values] })
      } catch (error) {
        if (!isStaleName(error)) throw error
        this.spent = true
        // A transaction ended with the refusal, and whoever began it begins it again.
        if (this.getTransactionStatus() !== 'I') throw staleError(error)
        return await this.query(text, [...values])
      }
    } finally {
      clearTimeout(timer)
    }
  }

  /** Ends the connection without a word to the other side; what waits for it fails with `error`. */
  cut(error: Error = new SilentConnection()): void {
    this.spent = true
    this.connection.stream.destroy(error)
  }
}
