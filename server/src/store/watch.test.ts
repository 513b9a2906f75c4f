import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { sql } from 'kysely'
import { onEachDatabase } from '../../test/support/databases.ts'
import { addPrincipal, addRun, cancel } from '../../test/support/stored.ts'
import type { Store } from './db.ts'
import { telling } from './hint.ts'
import { holdsRuns, runsWait } from './leases.ts'
import { Watch } from './watch.ts'

async function until(done: () => boolean): Promise<void> {
  for (const deadline = Date.now() + 10_000; !done(); await wait(5)) {
    assert(Date.now() < deadline, 'Waited in vain.')
  }
}

onEachDatabase('watch', (open) => {
  let store: Store
  let speaker: Watch
  let hearer: Watch
  before(async () => {
    store = await open()
    speaker = new Watch(store)
    hearer = new Watch(store)
    await speaker.start()
    await hearer.start()
  })
  after(async () => {
    await speaker.close()
    await hearer.close()
  })

  test('what one process says another hears: runs and pools, each its own', async () => {
    const heard: string[] = []
    const [run_id, other] = [randomUUID(), randomUUID()]
    const stops = [
      hearer.onRun(run_id, () => heard.push('run')),
      hearer.onRun(other, () => heard.push('other')),
      hearer.onPool('big', () => heard.push('pool')),
      hearer.onPool('small', () => heard.push('small')),
    ]
    speaker.touchRun(run_id)
    speaker.touchPool('big')
    await until(() => heard.length >= 2)
    assert.deepEqual(heard.sort(), ['pool', 'run'])
    for (const stop of stops) stop()
    const later = hearer.onRun(other, () => heard.push('later'))
    speaker.touchRun(run_id)
    speaker.touchRun(other)
    await until(() => heard.includes('later'))
    assert.equal(heard.length, 3)
    later()
  })

  test('who listens to everything hears of runs and of pools', async () => {
    let heard = 0
    const stop = hearer.onAny(() => {
      heard++
    })
    speaker.touchRun(randomUUID())
    await until(() => heard === 1)
    speaker.touchPool('any')
    await until(() => heard === 2)
    stop()
  })

  test('what a statement tells at its commit is heard, and never where it changed no row', async () => {
    const [run_id, unchanged] = [randomUUID(), randomUUID()]
    const heard: string[] = []
    const stops = [
      hearer.onRun(run_id, () => heard.push('run')),
      hearer.onOrder(run_id, () => heard.push('order')),
      hearer.onRun(unchanged, () => heard.push('unchanged')),
      hearer.onPool('told', () => heard.push('pool')),
    ]
    const tell = (hint: string | null, rows: number) => {
      assert.notEqual(hint, null)
      return sql`select 1${telling(hint)} from generate_series(1, ${rows}::int)`.execute(store.db)
    }
    await tell(speaker.takeHint({ logged: unchanged }), 0)
    // Callers want nothing by what the run's own worker wrote.
    await tell(speaker.takeHint({ logged: run_id }), 1)
    await until(() => heard.length > 0)
    assert.deepEqual(heard.splice(0), ['run'])
    await tell(speaker.takeHint({ run_ids: [run_id], pool: 'told' }), 1)
    await until(() => heard.length >= 3)
    assert.deepEqual(heard, ['run', 'order', 'pool'])
    for (const stop of stops) stop()
  })

  test('a process with much to tell does so after the commits, many at once', async () => {
    const busy = new Watch(store)
    const run_id = randomUUID()
    const heard: string[] = []
    const stops = [
      hearer.onRun(run_id, () => heard.push('run')),
      hearer.onOrder(run_id, () => heard.push('order')),
    ]
    const hints = Array.from({ length: 1_000 }, () => busy.takeHint({ logged: run_id }))
    assert(hints.includes(null))
    busy.touchLog(run_id)
    assert.equal(busy.takeHint({ logged: run_id }), null, 'It would overtake what is told soon.')
    await until(() => heard.length > 0)
    assert.deepEqual(heard, ['run'])
    for (const stop of stops) stop()
    await busy.close()
  })

  test('many runs at once are all heard, though a notification holds few', async () => {
    const ids = Array.from({ length: 700 }, () => randomUUID())
    const heard = new Set<string>()
    const stops = ids.map((run_id) => hearer.onRun(run_id, () => heard.add(run_id)))
    for (const run_id of ids) speaker.touchRun(run_id)
    await until(() => heard.size === ids.length)
    for (const stop of stops) stop()
  })

  test('what nobody said is found by asking', async () => {
    const principal_id = await addPrincipal(store.db)
    const run_id = await addRun(store.db, principal_id)
    let calls = 0
    const stop = hearer.onRun(run_id, () => {
      calls += 1
    })
    await until(() => calls === 1)
    await cancel(store.db, run_id, principal_id)
    await until(() => calls === 2)
    stop()
  })

  test('work that waits is found by asking, again and again, each by whom it concerns', async () => {
    const principal_id = await addPrincipal(store.db)
    const pool = randomUUID()
    const calls = { waits: 0, never: 0, held: 0 }
    const stops = [
      hearer.onWaiting(runsWait(pool), () => {
        calls.waits += 1
      }),
      hearer.onWaiting(holdsRuns(randomUUID()), () => {
        calls.held += 1
      }),
      hearer.onWaiting(runsWait(randomUUID()), () => {
        calls.never += 1
      }),
    ]
    await addRun(store.db, principal_id, { pool })
    await until(() => calls.waits === 2)
    assert.deepEqual(calls, { waits: 2, never: 0, held: 0 })
    for (const stop of stops) stop()
  })

  test('a question that cannot be answered lets all who asked look for themselves', async () => {
    let looks = 0
    const stops = [
      hearer.onWaiting(runsWait(randomUUID()), () => {
        looks += 1
      }),
      hearer.onWaiting(sql<boolean>`exists (select from no_such_table)`, () => {}),
    ]
    await until(() => looks === 1)
    for (const stop of stops) stop()
  })

  test('nonsense on the channel harms nobody', async () => {
    const run_id = randomUUID()
    let calls = 0
    const stop = hearer.onRun(run_id, () => {
      calls += 1
    })
    for (const payload of ['', 'nonsense', '{', 'null', '{}', '[]', '{"runs":1,"pools":null}']) {
      await sql`select pg_notify('runyard', ${payload})`.execute(store.db)
    }
    speaker.touchRun(run_id)
    await until(() => calls === 1)
    stop()
  })
})
