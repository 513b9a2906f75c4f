import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { StoredRun } from '../control-plane/stored-run.ts'
import { makeRefusal } from '../gateway/egress-rules.ts'
import { openKeyring } from '../sealing/keyring.ts'
import { openPostgres } from '../store/db.ts'
import { Watch } from '../store/watch.ts'
import { FencedStore } from './fenced-store.ts'
import { LeaseLost } from './lease-lost.ts'
import { ToldRefusals } from './told-refusals.ts'

/** A database that does not answer, and a lease that ended meanwhile. */
const away = openPostgres({ url: 'postgres://nobody@127.0.0.1:1/none' })
const storeOf = (attempt: number) =>
  new FencedStore(
    new StoredRun(
      { db: away.db, watch: new Watch(away), seal_key: openKeyring('a secret key of tests') },
      { run_id: randomUUID(), worker_id: randomUUID(), attempt },
    ),
    { writing: AbortSignal.abort(), owning: AbortSignal.abort() },
  )
after(() => away.close())

const REFUSAL = makeRefusal({ host: 'updates.example', port: 443 }, 'not_listed')

test('a lease that is lost before anything is refused ends nothing but the run', async () => {
  const lost: unknown[] = []
  const note = (error: unknown) => void lost.push(error)
  process.on('unhandledRejection', note)
  const told = new ToldRefusals(storeOf(2))
  // As long as a connection that is refused takes.
  await assert.rejects(away.db.connection().execute(async () => {}))
  await turn()
  process.off('unhandledRejection', note)
  assert.deepEqual(lost, [])
  await assert.rejects(told.isNew(REFUSAL), LeaseLost)
})

test('a first attempt reads nothing, and names each once', async () => {
  const told = new ToldRefusals(storeOf(1))
  assert.equal(await told.isNew(REFUSAL), true)
  assert.equal(await told.isNew(REFUSAL), false)
})
