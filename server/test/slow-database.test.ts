/** Lost workers are found however slowly the database answers. */
import assert from 'node:assert/strict'
import { connect, createServer, type Socket } from 'node:net'
import { describe, test } from 'node:test'
import { startSweep } from '../src/housekeeping/sweep.ts'
import { openPostgres } from '../src/store/db.ts'
import { migrate } from '../src/store/migrate.ts'
import { Watch } from '../src/store/watch.ts'
import { until } from './support/cluster.ts'
import { createDatabase, stopTestServer } from './support/databases.ts'
import { findPostgres } from './support/postgres-server.ts'
import { holdRun, readStored } from './support/stored.ts'

const skip = findPostgres() || process.env.RUNYARD_TEST_POSTGRES ? false : 'PostgreSQL is not installed'
/** Each way. */
const DELAY_MS = 120
const silent = { info() {}, warn() {}, error() {} }

/** A way to PostgreSQL on which everything takes its time. */
async function startSlowProxy(database_url: string): Promise<{ url: string; close(): void }> {
  const url = new URL(database_url)
  const { hostname } = url
  const port = Number(url.port)
  const sockets = new Set<Socket>()
  const pass = (from: Socket, to: Socket): void => {
    sockets.add(from)
    from.setNoDelay()
    from.on('data', (data) => setTimeout(() => to.writable && to.write(data), DELAY_MS))
    from.on('close', () => to.destroy())
    from.on('error', () => {})
  }
  const server = createServer((client) => {
    const upstream = connect(port, hostname)
    pass(client, upstream)
    pass(upstream, client)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  assert(address && typeof address === 'object')
  url.port = String(address.port)
  const close = () => {
    server.close()
    for (const socket of sockets) socket.destroy()
  }
  return { url: url.href, close }
}

describe('a slow database', { skip }, () => {
  test('does not keep lost workers from being found', async (t) => {
    const database = await createDatabase()
    const near = openPostgres({ url: database.url })
    await migrate(near.db)
    const lost = await holdRun(near.db)
    const proxy = await startSlowProxy(database.url)
    const far = openPostgres({ url: proxy.url })
    const watch = new Watch(far)
    const stop = startSweep(far, watch, silent)
    t.after(async () => {
      await stop()
      await watch.close()
      await far.close()
      proxy.close()
      await near.close()
      await database.drop()
      await stopTestServer()
    })
    await until(
      'the run to be taken back',
      async () => (await readStored(near.db, lost.run_id)).state === 'QUEUED',
      40,
    )
  })
})
