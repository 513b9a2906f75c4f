/**
 * How long anything may take that goes over a connection to PostgreSQL. A network that drops packets refuses nothing, so
 * without these a request would wait until TCP gives up, which takes a quarter of an hour. docs/postgresql.md names them.
 */

/** On our side. When `statement_ms` is over, the connection is taken for dead and never used again. */
export interface ConnectionLimits {
  /** To have a connection: for a free one of the pool, or to open another. */
  connect_ms: number
  /** Absent: as long as it takes. */
  statement_ms?: number
}

/** Longer than the server's own limit for a statement, so that a server that still answers says so itself. */
export const ORDINARY: ConnectionLimits = { connect_ms: 5_000, statement_ms: 10_000 }

/** For what must succeed or fail within the lease of six seconds: beats, sweeps, readiness. */
export const QUICK: ConnectionLimits = { connect_ms: 2_500, statement_ms: 2_500 }

/** For migrations: they take as long as there are rows. */
export const PATIENT: ConnectionLimits = { connect_ms: 5_000 }

/** How often a connection that only listens is asked whether it lives. */
export const LISTEN_CHECK_MS = 2_000

/** Found dead by the kernel after this and ten probes, a second apart. */
export const KEEPALIVE_MS = 5_000

/** In milliseconds; seconds where the server counts in seconds. */
const SESSION: Record<string, number> = {
  statement_timeout: 8_000,
  // Longer than the next one: who waits for a row that a stopped process holds, gets it.
  lock_timeout: 5_000,
  idle_in_transaction_session_timeout: 4_000,
}
const PEER: Record<string, number> = {
  tcp_keepalives_idle: 5,
  tcp_keepalives_interval: 2,
  tcp_keepalives_count: 3,
  tcp_user_timeout: 10_000,
}

/** The startup parameter `options` of a session, after what the operator wrote there: what is said last counts. */
export function sessionOptions(limits: ConnectionLimits, given: string | null): string {
  const settings = limits.statement_ms === undefined ? PEER : { ...SESSION, ...PEER }
  const ours = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`)
  return [...ours, ...(given ? [given] : [])].join(' ')
}
