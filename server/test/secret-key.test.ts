/** Every process of an installation works with the same secret key. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { openPostgres } from '../src/store/db.ts'
import { migrate } from '../src/store/migrate.ts'
import { until } from './support/cluster.ts'
import { createDatabase, stopTestServer } from './support/databases.ts'
import { findPostgres } from './support/postgres-server.ts'
import { spawnRunyard, startDevProcess, temporaryDirectory } from './support/service.ts'

const ONE = { RUNYARD_SECRET_KEY: 'one'.repeat(16) }
const OTHER = { RUNYARD_SECRET_KEY: 'other'.repeat(16) }

/** Starts a role that must refuse its key. */
async function assertRefused(args: readonly string[], env: Record<string, string>): Promise<void> {
  const child = spawnRunyard(args, env)
  let said = ''
  child.stdout?.on('data', (chunk) => {
    said += chunk
  })
  await until(`runyard ${args[0]} to refuse its key`, () => {
    // A role that takes it goes on for ever.
    assert.doesNotMatch(said + child.log(), /is running|Listening on|Working for/)
    return child.exitCode !== null
  })
  assert.equal(child.exitCode, 2, child.log())
  assert.match(child.log(), /error: RUNYARD_SECRET_KEY is another one than this installation was set up with/)
}

describe('the secret key', () => {
  test('of dev stays the same from start to start', async () => {
    const data_dir = temporaryDirectory('key')
    await (await startDevProcess({ data_dir, env: ONE })).stop()
    await assertRefused(['dev', '--port', '0', '--data-dir', data_dir], OTHER)
  })

  const skip = findPostgres() || process.env.RUNYARD_TEST_POSTGRES ? false : 'PostgreSQL is not installed'
  describe('on PostgreSQL', { skip }, () => {
    let database: Awaited<ReturnType<typeof createDatabase>>
    before(async () => {
      database = await createDatabase()
      const store = openPostgres({ url: database.url })
      await migrate(store.db)
      await store.close()
    })
    after(async () => {
      await database?.drop()
      await stopTestServer()
    })

    test('is that of the process that came first', async () => {
      const env = (key: object) => ({
        DATABASE_URL: database.url,
        RUNYARD_DATA_DIR: temporaryDirectory('key'),
        ...key,
      })
      const serve = spawnRunyard(['serve', '--port', '0'], env(ONE))
      await new Promise<void>((resolve) => {
        serve.stderr?.on('data', () => /Listening on/.test(serve.log()) && resolve())
        serve.once('exit', () => resolve())
      })
      assert.match(serve.log(), /Listening on/)
      await assertRefused(['serve', '--port', '0'], env(OTHER))
      // A key of the data directory's own is another one, too.
      await assertRefused(['worker'], env({}))
      serve.kill('SIGTERM')
      await new Promise((resolve) => serve.once('exit', resolve))
    })
  })
})
