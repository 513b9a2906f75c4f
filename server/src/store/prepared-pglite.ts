import { type PGlite as Embedded, parse, protocol } from '@electric-sql/pglite'
import type { PGlite, PGliteQueryOptions, PGliteQueryResults, PGliteTransaction } from 'kysely'
import { isStaleName, StatementNames } from './statement-names.ts'

const { bind, describe, execute, parse: prepare, sync } = protocol.serialize
const OPTIONS = { syncToFs: false } as const
const CLOSED = 'The embedded database is closed.'

/**
 * The embedded database as Kysely takes it, with its statements prepared by name. PGlite itself parses and plans a statement
 * each time, which takes twice as long as carrying it out, and crosses into WebAssembly five times for it.
 * The messages are those of https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-EXT-QUERY.
 */
export class PreparedPglite implements PGlite {
  readonly waitReady: Promise<void>
  readonly #embedded: Embedded
  readonly #names = new StatementNames()
  /** Of each prepared statement the types of its parameters; null: it is not to be used any more. */
  readonly #types = new Map<string, number[] | null>()

  constructor(embedded: Embedded) {
    this.#embedded = embedded
    this.waitReady = embedded.waitReady
  }

  get closed(): boolean {
    return this.#embedded.closed
  }

  get ready(): boolean {
    return this.#embedded.ready
  }

  close(): Promise<void> {
    return this.#embedded.close()
  }

  query<T>(text: string, values: unknown[] = [], options?: PGliteQueryOptions) {
    return this.#ask<T>(this.#embedded, text, values, options)
  }

  transaction<T>(work: (trx: PGliteTransaction) => Promise<T>): Promise<T> {
    // Kysely would wait for ever for one that does not begin. This one cannot do anything.
    if (!this.#embedded.ready)
      return work({ query: () => Promise.reject(new Error(CLOSED)), rollback: async () => {} })
    return this.#embedded.transaction((trx) =>
      work({
        query: <R>(text: string, values: unknown[] = [], options?: PGliteQueryOptions) =>
          this.#ask<R>(trx, text, values, options),
        rollback: () => trx.rollback(),
      }),
    )
  }

  async #ask<T>(
    session: Pick<Embedded, 'query'>,
    text: string,
    values: unknown[],
    options: PGliteQueryOptions | undefined,
  ): Promise<PGliteQueryResults<T>> {
    const name = values.length > 0 ? this.#names.find(text) : undefined
    if (!name || this.#types.get(name) === null) return session.query<T>(text, values, options)
    try {
      return await this.#embedded.runExclusive(() => this.#askPrepared<T>(name, text, values, options))
    } catch (error) {
      if (!isStaleName(error)) throw error
      this.#types.set(name, null)
      // A transaction ended with the refusal.
      if (session !== this.#embedded) throw error
      return session.query<T>(text, values, options)
    }
  }

  async #askPrepared<T>(
    name: string,
    text: string,
    values: unknown[],
    options: PGliteQueryOptions | undefined,
  ): Promise<PGliteQueryResults<T>> {
    const { parsers, serializers, ready } = this.#embedded
    // What is sent while it closes would never end, nor let anything else run.
    if (!ready) throw new Error(CLOSED)
    const types = this.#types.get(name) ?? (await this.#prepare(name, text))
    const written = values.map((value, place) => {
      if (value === null || value === undefined) return null
      return serializers[types[place] ?? 0]?.(value) ?? String(value)
    })
    const messages = await this.#send(
      bind({ statement: name, values: written }),
      describe({ type: 'P' }),
      execute({}),
    )
    const [results] = parse.parseResults(messages, parsers, options)
    return results as PGliteQueryResults<T>
  }

  async #prepare(name: string, text: string): Promise<number[]> {
    const messages = await this.#send(prepare({ name, text }), describe({ type: 'S', name }))
    const types = parse.parseDescribeStatementResults(messages)
    this.#types.set(name, types)
    return types
  }

  /** All at once; a refusal of one ends the others. */
  async #send(...parts: Uint8Array[]) {
    const { messages } = await this.#embedded.execProtocol(Buffer.concat([...parts, sync()]), OPTIONS)
    return messages
  }
}
