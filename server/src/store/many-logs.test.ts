import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { onEitherDatabase } from '../../test/support/databases.ts'
import { holdRun, readWholeLog } from '../../test/support/stored.ts'
import type { NewEvent, RunEvent } from '../contract/event.ts'
import type { Db } from './db.ts'
import { appendEvents, writeOpenMessages } from './events.ts'
import { readLogs } from './many-logs.ts'
import { startRun } from './transitions.ts'

const output = (text: string): NewEvent => ({
  type: 'tool.output',
  data: { tool_call_id: 't', stream: 'stdout', text },
})
const placeOf = ({ run_id, sequence }: RunEvent): string => `${run_id} ${sequence}`

onEitherDatabase('many logs', (open) => {
  let db: Db
  before(async () => {
    db = (await open()).db
  })
  const startWork = async () => {
    const held = await holdRun(db)
    await startRun(db, held, { harness: 'runbook' })
    return held
  }

  test('pages of any size hold each event once, by time, and no run stands back', async () => {
    const held = [await startWork(), await startWork(), await startWork()]
    for (let batch = 1; batch <= 4; batch += 1)
      for (const lease of held) await appendEvents(db, lease, batch, [output('x'.repeat(2000)), output('y')])
    const [first] = held
    assert(first)
    const followed = {
      run_ids: held.map(({ run_id }) => run_id),
      ancestor_run_id: null,
      principal_id: first.principal_id,
    }
    const logs = (await Promise.all(held.map(({ run_id }) => readWholeLog(db, run_id)))).flat()
    for (const size of [
      { limit: 1, bytes: 1_000_000 },
      { limit: 7, bytes: 1_000_000 },
      { limit: 500, bytes: 3_000 },
    ]) {
      const places = new Map<string, number>()
      const read: RunEvent[] = []
      for (;;) {
        const page = await readLogs(db, followed, places, null, size)
        assert(page.events.length <= size.limit && page.logs.length === 3)
        if (page.events.length === 0) break
        read.push(...page.events)
        for (const { run_id, sequence } of page.events) places.set(run_id.slice(-17), sequence)
      }
      assert.equal(read.length, logs.length)
      assert.deepEqual(new Set(read.map(placeOf)), new Set(logs.map(placeOf)))
      const times = read.map((event) => event.occurred_at)
      assert.deepEqual(times, times.toSorted())
    }
  })

  test('texts on their way come with the page, of each run its own', async () => {
    const held = [await startWork(), await startWork()]
    for (const lease of held) await writeOpenMessages(db, lease, [{ message_id: 'm', text: lease.run_id }])
    const [first] = held
    assert(first)
    const { principal_id } = first
    const run_ids = held.map(({ run_id }) => run_id)
    const page = await readLogs(db, { run_ids, ancestor_run_id: null, principal_id }, new Map(), null, {
      limit: 3,
      bytes: 1_000_000,
    })
    assert.deepEqual(
      page.logs.map(({ run_id, open }) => [run_id, open]).toSorted(),
      run_ids.map((run_id) => [run_id, [{ message_id: 'm', text: run_id }]]).toSorted(),
    )
  })
})
