import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { basename } from 'node:path'
import { after, describe, test } from 'node:test'
import { sql } from 'kysely'
import { createDatabase, openUnmigrated, stopTestServer } from '../../test/support/databases.ts'
import { LONG, onlyLong } from '../../test/support/once.ts'
import { findPostgres } from '../../test/support/postgres-server.ts'
import { EnvironmentName } from '../contract/environment-name.ts'
import { AppError } from '../contract/error.ts'
import { comparableUrl } from '../contract/reference-url.ts'
import { type Db, openPostgres, type Store } from './db.ts'
import { readLog } from './events.ts'
import { MIGRATION_NAMES, migrate, pendingMigrations, SCHEMA_VERSION } from './migrate.ts'
import { hasUrl } from './run-urls.ts'
import { readRuns } from './runs.ts'
import { json } from './storable.ts'

const isNewer = (error: unknown): boolean =>
  error instanceof AppError && error.code === 'operation_not_supported' && /9999_later/.test(error.detail)

async function assertMigrates(store: Store): Promise<void> {
  const { db } = store
  assert.equal(await pendingMigrations(db), SCHEMA_VERSION)
  assert.equal((await migrate(db)).length, SCHEMA_VERSION)
  assert.equal(await pendingMigrations(db), 0)
  assert.deepEqual(await migrate(db), [])
  const installation = () => sql`select installation_id from installation`.execute(db)
  const { rows } = await installation()
  assert.equal(rows.length, 1)
  await sql`insert into migrations (name, timestamp) values ('9999_later', '2099-01-01T00:00:00.000Z')`.execute(
    db,
  )
  await assert.rejects(migrate(db), isNewer)
  await assert.rejects(pendingMigrations(db), isNewer)
  assert.deepEqual((await installation()).rows, rows)
}

/** Rows as every version could have written them. */
async function addOldRun(db: Db): Promise<string> {
  const [principal_id, run_id] = [randomUUID(), randomUUID()]
  for (const statement of [
    sql`insert into principals (principal_id, type, display_name) values (${principal_id}, 'user', 'someone')`,
    sql`insert into runs (run_id, state, pool, principal_id, creator_id, scope, priority, last_sequence, title, prompt, source,
        config, request, metadata, conversation_id, root_run_id)
      values (${run_id}, 'SUCCEEDED', 'default', ${principal_id}, ${principal_id}, 'Team', 0, 1, 'A run', 'Do it.', 'API',
        '{}', '{}', '{}', ${run_id}, ${run_id})`,
    sql`insert into events (run_id, sequence, type, data)
      values (${run_id}, 1, 'message.user', ${json({ message_id: 'm', text: 'é'.repeat(1000) })})`,
  ])
    await statement.execute(db)
  return run_id
}

/** One database through all versions, a run added at each: what earlier ones wrote is there when later ones are upgraded. */
async function assertUpgrades({ db }: Store): Promise<void> {
  const written = new Map<string, string>()
  for (const version of MIGRATION_NAMES) {
    assert.deepEqual(await migrate(db, version), [version])
    if (version !== MIGRATION_NAMES.at(-1)) written.set(await addOldRun(db), version)
  }
  assert.equal(written.size, SCHEMA_VERSION - 1)
  for (const [run_id, version] of written) {
    assert.equal((await readRuns(db, [run_id]))[0]?.prompt, 'Do it.', version)
    const log = await readLog(db, run_id, 0, 10)
    assert.deepEqual(log?.events[0]?.data, { message_id: 'm', text: 'é'.repeat(1000) }, version)
    const { rows } = await sql<{ right: boolean }>`
      select bytes = octet_length(data::text) as right from events where run_id = ${run_id}`.execute(db)
    assert.deepEqual(rows, [{ right: true }], version)
  }
}

// From two of them the test below upgrades on PGlite, and another makes all statements on an empty one.
onlyLong('upgrades from every earlier version on PGlite', async () => {
  const store = await openUnmigrated()
  await assertUpgrades(store).finally(() => store.close())
})

test('an upgrade on PGlite names attachments that no file system would, and finds earlier runs by what they produced', async () => {
  const store = await openUnmigrated()
  const { db } = store
  await migrate(db, '0006_storage')
  const run_id = await addOldRun(db)
  const names = ['漢'.repeat(85), '漢'.repeat(86)]
  const ids = names.map(() => randomUUID())
  for (const [place, name] of names.entries())
    await sql`insert into attachments (attachment_id, run_id, file_name, mime_type, size_bytes, blob_key, path)
      values (${ids[place]}, ${run_id}, ${name}, 'text/plain', 1, 'x', ${`attachments/${name}`})`.execute(db)
  await migrate(db, '0019_webhooks')
  const urls = [
    'HTTPS://Git.example:443/A/pull/7/#x',
    'http://git.example:80//?a=/b/#c',
    'https://git.example:8443',
    'https://git.example/?',
    'https://git.example/é//',
    'javascript:alert(1)',
  ]
  for (const url of urls)
    await sql`insert into run_references (artifact_uid, run_id, reference_type, url)
      values (${randomUUID()}, ${run_id}, 'OTHER', ${url})`.execute(db)
  await sql`insert into pushes (artifact_uid, run_id, directory, repository, branch, commit, url)
    values (${randomUUID()}, ${run_id}, 'site', 'r', 'b', 'c', 'https://git.example/tree/b')`.execute(db)
  await migrate(db)
  const { rows: attached } = await sql<{
    path: string
  }>`select path from attachments order by path <> ${`attachments/${names[0]}`}`.execute(db)
  assert.deepEqual(
    attached.map(({ path }) => path),
    [`attachments/${names[0]}`, `attachments/${ids[1]}`],
  )
  const find = (url: string) =>
    sql<{ found: boolean }>`select ${hasUrl(url)} as found from runs r where r.run_id = ${run_id}`.execute(db)
  for (const url of [...urls.slice(0, 4), 'https://git.example/tree/b'])
    assert.deepEqual((await find(comparableUrl(url) ?? '')).rows, [{ found: true }], url)
  const { rows } = await sql`select 1 from run_urls`.execute(db)
  assert.equal(rows.length, 6)
  await store.close()
})

/** Environments from when names could be anything, and what each is called after the upgrade. */
const OLD_NAMES: Array<[string, string]> = [
  ['site', 'site'],
  ['site-3', 'site-3'],
  ['site', 'site-2'],
  ['site', 'site-4'],
  ['Site', 'Site'],
  [' site\t', 'site-5'],
  ['a\nb', 'a b'],
  ['a b', 'a b-2'],
  ['\u00a0\u0007', 'environment'],
  ['', 'environment-2'],
  ['A'.repeat(22), `${'A'.repeat(22)}-2`],
  ['empty-environment', 'empty-environment-2'],
  ['..', '..-2'],
  ['x'.repeat(256), 'x'.repeat(256)],
  ['x'.repeat(256), `${'x'.repeat(120)}-2`],
  ['😀'.repeat(128), '😀'.repeat(128)],
  ['😀'.repeat(128), `${'😀'.repeat(120)}-2`],
]

async function assertNamesAgree(store: Store): Promise<void> {
  const { db } = store
  await migrate(db, '0008_changes')
  const principal_id = randomUUID()
  await sql`insert into principals (principal_id, type, display_name) values (${principal_id}, 'user', 'someone')`.execute(
    db,
  )
  for (const [place, [name]] of OLD_NAMES.entries())
    await sql`insert into environments (uid, name, config, creator_id, scope, created_at)
      values (${`${place}`.padStart(22, '0')}, ${name}, ${json({ name, docker_image: 'x' })}, ${principal_id}, 'Team',
        timestamptz '2026-01-01' + ${place}::int * interval '1 second')`.execute(db)
  await migrate(db)
  const { rows } = await sql<{ name: string; config: { name: string } }>`
    select name, config from environments order by uid`.execute(db)
  assert.deepEqual(
    rows.map(({ name }) => name),
    OLD_NAMES.map(([, name]) => name),
  )
  for (const { name, config } of rows) {
    assert.deepEqual(config, { name, docker_image: 'x' })
    // What a caller reads can be written again.
    assert.equal(EnvironmentName.parse(name), name)
  }
  await assert.rejects(
    sql`update environments set name = 'site' where name = 'Site'`.execute(db),
    /environments_team_name/,
  )
}

onlyLong('an upgrade gives environments of one name a name each on PGlite', async () => {
  const store = await openUnmigrated()
  await assertNamesAgree(store).finally(() => store.close())
})

test('migrates PGlite once, and refuses a newer database', async () => {
  const store = await openUnmigrated()
  await assertMigrates(store).finally(() => store.close())
})

const skip = findPostgres() || process.env.RUNYARD_TEST_POSTGRES ? false : 'PostgreSQL is not installed'
describe('migrate on PostgreSQL', { skip }, () => {
  after(stopTestServer)

  test('migrates once, and refuses a newer database', async () => {
    const database = await createDatabase()
    const store = openPostgres({ url: database.url })
    await assertMigrates(store).finally(() => store.close())
    await database.drop()
  })

  test('upgrades from every earlier version', async () => {
    const database = await createDatabase()
    const store = openPostgres({ url: database.url })
    await assertUpgrades(store).finally(() => store.close())
    await database.drop()
  })

  test('an upgrade gives environments of one name a name each', async () => {
    const database = await createDatabase()
    const store = openPostgres({ url: database.url })
    await assertNamesAgree(store).finally(() => store.close())
    await database.drop()
  })

  test('processes that start at once migrate once', async () => {
    const database = await createDatabase()
    const stores = Array.from({ length: LONG ? 5 : 2 }, () => openPostgres({ url: database.url }))
    const done = await Promise.all(stores.map((store) => migrate(store.db)))
    assert.equal(done.flat().length, SCHEMA_VERSION)
    for (const store of stores) {
      assert.equal(await pendingMigrations(store.db), 0)
      await store.close()
    }
    await database.drop()
  })
})

/** Kysely refuses to run one that comes before one that ran. */
test('every migration comes after those that had landed before it', (t) => {
  const log = ['log', '--first-parent', '-m', '--reverse', '--diff-filter=AR', '--name-only', '--format=']
  const { status, stdout } = spawnSync('git', [...log, '--', 'migrations'], {
    cwd: new URL('./', import.meta.url),
    encoding: 'utf8',
  })
  if (status !== 0) return t.skip('This is no clone.')
  const landed = stdout.split('\n').map((path) => basename(path, '.sql'))
  // One that was renamed before it landed has its last place; those that no commit has yet come last.
  const placeOf = (name: string): number => (landed.includes(name) ? landed.lastIndexOf(name) : landed.length)
  // Some of the first 33 changed places with each other.
  const names = MIGRATION_NAMES.slice(33)
  assert.deepEqual(
    names.toSorted((one, other) => placeOf(one) - placeOf(other)),
    names,
  )
})
