/** Every process of an installation works with the same secret key. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { readConfig, startServe } from '../src/main.ts'
import { runCommand, runProcess } from './support/command.ts'
import { createMigrated, stopTestServer } from './support/databases.ts'
import { findPostgres } from './support/postgres-server.ts'
import { startService, temporaryDirectory } from './support/service.ts'

const ONE = { RUNYARD_SECRET_KEY: 'one'.repeat(16) }
const OTHER = { RUNYARD_SECRET_KEY: 'other'.repeat(16) }

/** Starts a role that must refuse its key. */
async function assertRefused(
  args: readonly string[],
  env: Record<string, string>,
  run: typeof runCommand = runCommand,
): Promise<void> {
  const { code, stdout, stderr } = await run(args, env)
  assert.doesNotMatch(stdout + stderr, /is running|Listening on|Working for/)
  assert.equal(code, 2, stderr)
  assert.match(stderr, /error: RUNYARD_SECRET_KEY is another one than this installation was set up with/)
}

describe('the secret key', () => {
  test('of dev stays the same from start to start', async () => {
    const data_dir = temporaryDirectory('key')
    await (await startService({ data_dir, env: ONE, embedded: true })).stop()
    await assertRefused(['dev', '--port', '0', '--data-dir', data_dir], OTHER)
  })

  const skip = findPostgres() || process.env.RUNYARD_TEST_POSTGRES ? false : 'PostgreSQL is not installed'
  describe('on PostgreSQL', { skip }, () => {
    let database: Awaited<ReturnType<typeof createMigrated>>
    before(async () => {
      database = await createMigrated()
    })
    after(async () => {
      await database?.drop()
      await stopTestServer()
    })

    test('is that of the process that came first', async (t) => {
      const env = (key: object) => ({
        DATABASE_URL: database.url,
        RUNYARD_DATA_DIR: temporaryDirectory('key'),
        ...key,
      })
      const serve = await startServe({ config: readConfig(env(ONE)), port: 0, log: { write() {} } })
      t.after(() => serve.stop())
      assert.equal(serve.missing, null)
      // Processes of their own, which end although they have opened connections.
      await assertRefused(['serve', '--port', '0'], env(OTHER), runProcess)
      // A key of the data directory's own is another one, too.
      await assertRefused(['worker'], env({}), runProcess)
    })
  })
})
