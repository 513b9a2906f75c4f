import pg from 'pg'
import { LISTEN_CHECK_MS, QUICK } from './connection-limits.ts'
import { Client } from './pg-client.ts'

const RETRY_MS = 1_000

/**
 * Hears NOTIFY on a connection of its own: a pooled one would take its subscriptions along when it is recycled. It only
 * waits, and would not notice that nothing comes any more, so it asks every few seconds. Returns how to stop.
 */
export async function listenPostgres(
  connection: pg.ClientConfig,
  channel: string,
  onPayload: (payload: string) => void,
): Promise<() => Promise<void>> {
  const limit = { limit_ms: QUICK.statement_ms }
  let client: Client | undefined
  let closed = false
  let timer: NodeJS.Timeout | undefined
  const schedule = (work: () => Promise<void>, milliseconds: number): void => {
    clearTimeout(timer)
    if (closed) return
    timer = setTimeout(work, milliseconds)
    timer.unref()
  }
  const connect = async (): Promise<void> => {
    const next = new Client({ ...connection, connectionTimeoutMillis: QUICK.connect_ms })
    const again = () => {
      if (client !== next) return
      client = undefined
      next.cut()
      schedule(connect, RETRY_MS)
    }
    const check = async (): Promise<void> => {
      await next.ask('select 1', [], limit).then(() => schedule(check, LISTEN_CHECK_MS), again)
    }
    client = next
    next.on('notification', (message) => onPayload(message.payload ?? ''))
    next.on('error', again)
    next.on('end', again)
    try {
      await next.connect()
      await next.ask(`listen ${pg.escapeIdentifier(channel)}`, [], limit)
      schedule(check, LISTEN_CHECK_MS)
    } catch {
      // Away already at the start, perhaps: polling carries on meanwhile.
      again()
    }
  }
  await connect()
  return async () => {
    closed = true
    clearTimeout(timer)
    // Nothing is on its way that anybody waits for, and a goodbye could wait for ever.
    client?.cut()
  }
}
