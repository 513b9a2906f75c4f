/** The secret key of an installation is replaced: nothing that was sealed is lost, also when that is broken off. */
import assert from 'node:assert/strict'
import { createCipheriv, randomBytes, randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { sql } from 'kysely'
import { openKeyring } from '../src/sealing/keyring.ts'
import { headOf, seal, unseal } from '../src/sealing/sealing.ts'
import { openSecret, sealSecret } from '../src/sealing/secret-value.ts'
import { sealTriggerSecrets } from '../src/sealing/trigger-secrets.ts'
import { sealWebhookSecrets } from '../src/sealing/webhook-secrets.ts'
import { PATIENT } from '../src/store/connection-limits.ts'
import { type Db, openPostgres, type Store } from '../src/store/db.ts'
import { findEnvironment, insertEnvironment } from '../src/store/environments.ts'
import { randomText } from '../src/store/random-text.ts'
import { findRun } from '../src/store/runs.ts'
import { insertSchedule } from '../src/store/schedules.ts'
import { putSecret, readSecrets } from '../src/store/secrets.ts'
import { insertTrigger } from '../src/store/triggers.ts'
import { insertWebhook } from '../src/store/webhooks.ts'
import { until } from './support/cluster.ts'
import { runCommand } from './support/command.ts'
import { createMigrated, stopTestServer } from './support/databases.ts'
import { LONG } from './support/once.ts'
import { findPostgres } from './support/postgres-server.ts'
import { apiOf, shell, spawnRunyard, startService, temporaryDirectory } from './support/service.ts'
import { actorOf, addPrincipal, addRun } from './support/stored.ts'
import { printed } from './support/traces.ts'

const OLD = 'the old key'.repeat(4)
const NEW = 'the new key'.repeat(4)
const CANARY = 'canary-7Hq2vXw9'
const old_ring = openKeyring(OLD)
const new_ring = openKeyring(NEW)

const ROTATING = { RUNYARD_SECRET_KEY: NEW, RUNYARD_OLD_SECRET_KEYS: OLD }

async function runyard(args: readonly string[], env: Record<string, string>) {
  const ended = await runCommand(args, env)
  assert(!`${ended.stdout}${ended.stderr}`.includes(CANARY))
  return ended
}

/** As versions before key ids did it. */
function sealWithoutName(place: string, values: object): Buffer {
  const iv = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', old_ring.current.key, iv).setAAD(Buffer.from(place))
  const text = Buffer.concat([cipher.update(JSON.stringify(values)), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), text])
}

const skip = findPostgres() || process.env.RUNYARD_TEST_POSTGRES ? false : 'PostgreSQL is not installed'
describe('the key of an installation on PostgreSQL', { skip }, () => {
  const ENVIRONMENTS = 1_500
  let database: Awaited<ReturnType<typeof createMigrated>>
  let store: Store
  let db: Db
  let owner: string
  const uids: string[] = []
  const run_ids: string[] = []
  const env = (keys: Record<string, string>) => ({
    DATABASE_URL: database.url,
    RUNYARD_DATA_DIR: temporaryDirectory('rotation'),
    ...keys,
  })
  const putSealed = (name: string, scope: 'User' | 'Team', keyring = old_ring) => {
    const key = { scope, owner_id: scope === 'User' ? owner : null, name }
    return putSecret(
      db,
      { ...key, creator_id: owner, git: null, registry: null, description: null },
      (version) => sealSecret(keyring, { ...key, version }, `${CANARY} of ${name}`),
    )
  }
  const left = async (): Promise<number> => {
    const head = headOf(new_ring.current)
    const found = await sql<{ left: number }>`
      select count(*)::int as left from (
        select sealed from secrets union all select sealed from environments
        union all select sealed from schedules union all select sealed from runs
        union all select sealed from webhooks union all select sealed from triggers) s
      where sealed is not null and substring(sealed from 1 for 5) <> ${head}::bytea`.execute(db)
    return found.rows[0]?.left ?? -1
  }

  before(async () => {
    database = await createMigrated()
    // One transaction makes them all, and ordinary limits end it if this process stands still for four seconds.
    store = openPostgres({ url: database.url, limits: PATIENT })
    db = store.db
    owner = await addPrincipal(db)
    await putSealed('PERSONAL', 'User')
    await putSealed('SHARED', 'Team')
    await putSealed('SHARED', 'Team')
    await db.transaction().execute(async (trx) => {
      for (let index = 0; index < ENVIRONMENTS; index += 1) {
        const uid = randomText(22)
        const variables = { TOKEN: `${CANARY}-${index}` }
        uids.push(uid)
        await insertEnvironment(trx, {
          uid,
          creator_id: owner,
          config: { name: `e${index}` },
          sealed: index % 2 ? seal(old_ring, uid, variables) : sealWithoutName(uid, variables),
        })
      }
    })
    for (let index = 0; index < 3; index += 1) {
      const run_id = await addRun(db, owner)
      const sealed = index
        ? seal(old_ring, run_id, { KEY: CANARY })
        : sealWithoutName(run_id, { KEY: CANARY })
      await sql`update runs set sealed = ${sealed}::bytea where run_id = ${run_id}::uuid`.execute(db)
      run_ids.push(run_id)
    }
    const schedule_id = randomUUID()
    await insertSchedule(db, {
      ...{ schedule_id, creator_id: owner, scope: 'Team', name: 's', cron_schedule: '0 0 1 1 *' },
      ...{ time_zone: 'UTC', overlap: 'skip', catch_up: 'skip', prompt: 'x', mode: null, config: {} },
      ...{ title: null, priority: null, budget: null, output_schema: null },
      ...{
        metadata: {},
        agent_uid: null,
        next_run_at: null,
        sealed: seal(old_ring, schedule_id, { KEY: CANARY }),
      },
    })
    const trigger_id = randomUUID()
    await insertTrigger(db, {
      ...{ trigger_id, creator_id: owner, scope: 'Team', name: 't', verification: 'github', filter: null },
      ...{ on_open_run: 'followup', prompt: 'x', title: null, mode: null, config: {}, metadata: {} },
      ...{ priority: null, budget: null, output_schema: null, agent_uid: null, reply: null, enabled: true },
      sealed: sealTriggerSecrets(old_ring, trigger_id, { secret: CANARY, values: {} }),
    })
    const webhook_id = randomUUID()
    await insertWebhook(db, {
      ...{
        webhook_id,
        creator_id: owner,
        scope: 'Team',
        url: 'https://example.com/',
        events: ['run.created'],
      },
      ...{ format: 'runyard', description: null, enabled: true },
      sealed: sealWebhookSecrets(old_ring, webhook_id, { current: CANARY }),
    })
    await sql`update installation set secret_fingerprint = null`.execute(db)
    const settled = await runyard(['secret', 'rotate-key', '--json'], env({ RUNYARD_SECRET_KEY: OLD }))
    assert.equal(settled.code, 0, settled.stderr)
  })
  after(async () => {
    await store?.close()
    await database?.drop()
    await stopTestServer()
  })

  test('is not replaced by one that says nothing of the old one', async () => {
    const { code, stderr } = await runyard(['secret', 'rotate-key'], env({ RUNYARD_SECRET_KEY: NEW }))
    assert.equal(code, 2, stderr)
    assert.match(stderr, /RUNYARD_SECRET_KEY is another one .* RUNYARD_OLD_SECRET_KEYS/)
  })

  test('is replaced also when that is killed in the middle, and nothing is lost', async () => {
    const values = await left()
    assert.equal(values, ENVIRONMENTS + 2 + 1 + 1 + 1 + 3)
    const child = spawnRunyard(['secret', 'rotate-key'], env(ROTATING))
    await until('some values to be sealed again', async () => (await left()) < values - 100)
    child.kill('SIGKILL')
    await new Promise((resolve) => child.once('close', resolve))
    const half = await left()
    assert(half > 0 && half < values, `${half} of ${values} are left`)
    // In between everything opens, with both keys.
    await assertWhole(openKeyring(NEW, [OLD]))

    // Somebody writes meanwhile, who has the old key as his own.
    await putSealed('SHARED', 'Team')
    const { code, stdout, stderr } = await runyard(['secret', 'rotate-key'], env(ROTATING))
    assert.equal(code, 0, stderr)
    assert.match(
      stdout,
      /^Sealed again: 1 secret, \d+ environments, 1 schedule, 1 trigger, 3 runs, 1 webhook\n$/,
    )
    assert.match(stderr, /RUNYARD_OLD_SECRET_KEYS can go/)
    assert.equal(await left(), 0)
    await assertWhole(new_ring)
    const again = await runyard(['secret', 'rotate-key', '--json'], env({ RUNYARD_SECRET_KEY: NEW }))
    assert.deepEqual(JSON.parse(again.stdout), {
      ...{ secrets: 0, environments: 0, schedules: 0, triggers: 0, runs: 0, webhooks: 0 },
      unreadable: [],
    })
    const back = await runyard(['secret', 'rotate-key'], env({ RUNYARD_SECRET_KEY: OLD }))
    assert.equal(back.code, 2, back.stderr)
  })

  test('leaves what none of the keys opens, and names it', async () => {
    const strange = openKeyring('a third key'.repeat(4))
    const [uid = ''] = uids
    await sql`update environments set sealed = ${seal(strange, uid, { A: CANARY })}::bytea where uid = ${uid}`.execute(
      db,
    )
    const { code, stdout, stderr } = await runyard(['secret', 'rotate-key'], env(ROTATING))
    assert.equal(code, 1)
    assert.match(
      stdout,
      /^Sealed again: 0 secrets, 0 environments, 0 schedules, 0 triggers, 0 runs, 0 webhooks\n$/,
    )
    assert.match(stderr, new RegExp(`None of the keys opens the values of environment ${uid}\\.`))
    assert.doesNotMatch(stderr, /can go/)
    assert.deepEqual(unseal(strange, uid, (await findEnvironment(db, uid))?.sealed ?? Buffer.alloc(0)), {
      A: CANARY,
    })
  })

  test('leaves no value readable in the database, and none that opens in another row', async () => {
    const rows = await sql<{ text: string }>`select s::text as text from secrets s`.execute(db)
    assert.equal(rows.rows.length, 2)
    for (const { text } of rows.rows) {
      assert(!text.includes(CANARY))
      assert(!Buffer.from(/\\\\x([0-9a-f]+)/.exec(text)?.[1] ?? '', 'hex').includes(CANARY))
    }
    const who = { principal_id: owner, personal: true }
    const [personal, shared] = await readSecrets(db, ['PERSONAL', 'SHARED'], who)
    assert(personal && shared)
    await sql`update secrets set sealed = ${Buffer.from(shared.sealed)}::bytea where name = 'PERSONAL'`.execute(
      db,
    )
    await sql`update secrets set version = version + 1 where name = 'SHARED'`.execute(db)
    for (const row of await readSecrets(db, ['PERSONAL', 'SHARED'], who))
      assert.throws(() => openSecret(new_ring, row), /does not open/, row.name)
    // They stop neither others from being sealed again, nor a new value.
    await putSealed('SHARED', 'Team', new_ring)
    const [anew] = await readSecrets(db, ['SHARED'], who)
    assert(anew)
    assert.equal(openSecret(new_ring, anew), `${CANARY} of SHARED`)
  })

  async function assertWhole(keyring: typeof new_ring): Promise<void> {
    const rows = await readSecrets(db, ['PERSONAL', 'SHARED'], { principal_id: owner, personal: true })
    assert.deepEqual(
      rows.map((row) => [row.name, row.scope, openSecret(keyring, row)]),
      [
        ['PERSONAL', 'User', `${CANARY} of PERSONAL`],
        ['SHARED', 'Team', `${CANARY} of SHARED`],
      ],
    )
    for (const [index, uid] of uids.entries()) {
      // Odd, so that both ways of sealing are among them.
      if (!LONG && index % 15 > 0) continue
      const sealed = (await findEnvironment(db, uid))?.sealed
      assert(sealed)
      assert.deepEqual(unseal(keyring, uid, sealed), { TOKEN: `${CANARY}-${index}` })
    }
    for (const run_id of run_ids) {
      const sealed = (await findRun(db, run_id, actorOf(owner)))?.sealed
      assert(sealed)
      assert.deepEqual(unseal(keyring, run_id, sealed), { KEY: CANARY })
    }
  }
})

test('the key of dev is replaced while its runs go on using what was sealed before', async () => {
  const data_dir = temporaryDirectory('rotation')
  const first = await startService({ data_dir, embedded: true, env: { RUNYARD_SECRET_KEY: OLD } })
  const { uid } = await apiOf(first).json<{ uid: string }>('POST', '/agent/environments', {
    name: 'before',
    variables: { WORD: 'short' },
  })
  await apiOf(first).json('PUT', '/agent/secrets/TOKEN', { value: CANARY })
  await first.stop()

  const runs = async (env: Record<string, string>) => {
    const service = await startService({ data_dir, embedded: true, env })
    const api = apiOf(service)
    const run_id = await api.create({ prompt: shell('echo $WORD'), config: { environment_id: uid } })
    assert.equal((await api.ended(run_id)).state, 'SUCCEEDED')
    assert.equal(printed(await api.events(run_id)), 'short\n')
    await service.stop()
    assert(!service.log().includes(CANARY))
  }
  await runs(ROTATING)
  const { code, stdout, stderr } = await runyard(['secret', 'rotate-key', '--data-dir', data_dir], ROTATING)
  assert.equal(code, 0, stderr)
  assert.equal(stdout, 'Sealed again: 1 secret, 1 environment, 0 schedules, 0 triggers, 0 runs, 0 webhooks\n')
  // That the new key alone opens all of it is shown above.
  if (LONG) await runs({ RUNYARD_SECRET_KEY: NEW })
})
