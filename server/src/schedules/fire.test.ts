import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { sql } from 'kysely'
import { v7 as uuidv7 } from 'uuid'
import { until } from '../../test/support/cluster.ts'
import { onEitherDatabase } from '../../test/support/databases.ts'
import { LONG } from '../../test/support/once.ts'
import { temporaryDirectory } from '../../test/support/service.ts'
import { actorOf, addPrincipal, addRun } from '../../test/support/stored.ts'
import { openDiskBlobs } from '../blobs/disk.ts'
import { LOOP, RUNBOOK } from '../contract/harness-fields.ts'
import type { CreateScheduleRequest } from '../contract/schedule.ts'
import { nextAfter, nextTimes } from '../intake/cron.ts'
import type { RunServices } from '../intake/new-run.ts'
import { resolveSchedule } from '../intake/schedule.ts'
import { openKeyring } from '../sealing/keyring.ts'
import { listAudit } from '../store/audit-log.ts'
import type { Db, Store } from '../store/db.ts'
import { type FiringRow, listFirings } from '../store/firings.ts'
import { listRuns } from '../store/run-list.ts'
import { readRuns } from '../store/runs.ts'
import {
  findSchedule,
  insertSchedule,
  type ListedSchedule,
  listSchedules,
  replaceSchedule,
} from '../store/schedules.ts'
import { Watch } from '../store/watch.ts'
import { fireSchedule, NoRoom } from './fire.ts'
import { startScheduler } from './scheduler.ts'

/** A clock of the database that stands where it is put. */
const CLOCK = sql<Date>`(select at from fake_clock)`

onEitherDatabase('schedules', (open) => {
  let store: Store
  let db: Db
  let intake: RunServices
  before(async () => {
    store = await open()
    db = store.db
    intake = {
      ...{ db, blobs: openDiskBlobs(temporaryDirectory('blobs')), max_run_files_bytes: 1 },
      open_runs: { principal: 0, total: 0 },
      ...{
        seal_key: openKeyring('a secret key of tests'),
        default_pool: 'default',
        harnesses: [LOOP, RUNBOOK],
      },
    }
    await sql`create table fake_clock (at timestamptz not null)`.execute(db)
    await sql`insert into fake_clock values (now())`.execute(db)
  })

  const set = (time: string) => sql`update fake_clock set at = ${time}::timestamptz`.execute(db)

  const add = async (
    asked: Partial<CreateScheduleRequest>,
    now: string,
    principal_id?: string,
  ): Promise<ListedSchedule & { principal_id: string }> => {
    const owner = principal_id ?? (await addPrincipal(db))
    const schedule_id = uuidv7()
    const scope = asked.team === false ? 'User' : 'Team'
    const content = await resolveSchedule(
      { ...intake, min_schedule_seconds: 1 },
      { name: 'A schedule', cron_schedule: '0 * * * *', prompt: 'Do it.', ...asked },
      { schedule_id, actor: actorOf(owner), scope, before: null, now: new Date(now) },
    )
    const row = await insertSchedule(db, { ...content, schedule_id, scope, creator_id: owner })
    return { ...row, principal_id: owner }
  }

  const fire = (schedule_id: string) => fireSchedule(intake, schedule_id, CLOCK)
  const firings = async (schedule_id: string): Promise<FiringRow[]> =>
    (await listFirings(db, schedule_id, { limit: 500 })).firings
  const outcomes = async (schedule_id: string): Promise<string[]> =>
    (await firings(schedule_id)).map(
      ({ due_at, outcome }) => `${due_at.toISOString().slice(11, 16)} ${outcome}`,
    )
  const runsOf = async ({ schedule_id, principal_id }: { schedule_id: string; principal_id: string }) =>
    (await listRuns(db, { schedule_id, limit: 500, sort_by: 'created_at' }, actorOf(principal_id))).runs
  const read = async ({ schedule_id, principal_id }: { schedule_id: string; principal_id: string }) => {
    const row = await findSchedule(db, schedule_id, actorOf(principal_id))
    assert(row)
    return row
  }

  test('a due time creates one run, which says where it came from', async () => {
    const asked = { title: 'Each hour', budget: { max_tokens: 5 }, output_schema: { type: 'object' } }
    const schedule = await add(
      { name: 'Hourly', metadata: { team: 'a' }, priority: 7, ...asked },
      '2026-05-01T08:30:00Z',
    )
    await set('2026-05-01T08:59:59.999Z')
    assert.equal(await fire(schedule.schedule_id), null)
    await set('2026-05-01T09:00:00Z')
    const fired = await fire(schedule.schedule_id)
    assert.deepEqual([fired?.firing.outcome, fired?.pool], ['created', 'default'])
    assert.equal(await fire(schedule.schedule_id), null)
    const [run, ...more] = await runsOf(schedule)
    assert(run)
    assert.equal(more.length, 0)
    assert.equal(run.source, 'SCHEDULED_AGENT')
    assert.deepEqual([run.title, run.metadata], ['Each hour', { team: 'a' }])
    const [stored] = await readRuns(db, [run.run_id])
    assert.deepEqual([stored?.priority, { ...stored?.request, ...asked }], [7, stored?.request])
    assert.deepEqual(run.schedule, {
      schedule_id: schedule.schedule_id,
      schedule_name: 'Hourly',
      cron_schedule: '0 * * * *',
    })
    const { entries } = await listAudit(db, { target: run.run_id })
    assert.deepEqual(
      entries.map(({ action, via, principal_id, detail }) => [action, via, principal_id, detail]),
      [['createRun', 'service', schedule.principal_id, `schedule ${schedule.schedule_id}`]],
    )
    const after = await read(schedule)
    assert.equal(after.next_run_at?.toISOString(), '2026-05-01T10:00:00.000Z')
    assert.equal(after.last_ran_at?.toISOString(), '2026-05-01T09:00:00.000Z')
    assert.deepEqual(after.updated_at, schedule.updated_at)
  })

  test('a due time that meets a full quota is made up for once there is room, and says meanwhile why not', async () => {
    const full = { ...intake, open_runs: { principal: 1, total: 0 } }
    const schedule = await add({ overlap: 'allow' }, '2026-05-01T08:30:00Z')
    const { schedule_id, principal_id } = schedule
    const skipping = await add({ overlap: 'allow', catch_up: 'skip' }, '2026-05-01T08:30:00Z', principal_id)
    const run_id = await addRun(db, principal_id)
    await set('2026-05-01T09:00:00Z')
    for (const id of [schedule_id, skipping.schedule_id]) {
      await assert.rejects(fireSchedule(full, id, CLOCK), NoRoom)
      await assert.rejects(fireSchedule(full, id, CLOCK), NoRoom)
    }
    assert.match(
      (await read(schedule)).last_spawn_error ?? '',
      /^There is no room .* tried again\. 1 runs of/,
    )
    assert.deepEqual(await firings(schedule_id), [])
    await set('2026-05-01T09:02:00Z')
    const missed = await fireSchedule(full, skipping.schedule_id, CLOCK)
    assert.deepEqual(missed?.firing.outcome, 'failed')
    assert.match(missed?.firing.reason ?? '', /^There was no room for its run in time\. 1 runs of/)
    await sql`update runs set state = 'SUCCEEDED' where run_id = ${run_id}::uuid`.execute(db)
    const fired = await fireSchedule(full, schedule_id, CLOCK)
    assert.deepEqual(
      [fired?.firing.outcome, fired?.firing.due_at.toISOString()],
      ['created', '2026-05-01T09:00:00.000Z'],
    )
    assert.equal((await read(schedule)).last_spawn_error, null)
  })

  test('many at once fire a due time once', async () => {
    const schedule = await add({ overlap: 'allow' }, '2026-05-01T08:30:00Z')
    for (const hour of ['09', '10', '11']) {
      await set(`2026-05-01T${hour}:00:00.500Z`)
      const fired = await Promise.all(Array.from({ length: 8 }, () => fire(schedule.schedule_id)))
      assert.equal(fired.filter((one) => one !== null).length, 1)
    }
    assert.deepEqual(await outcomes(schedule.schedule_id), [
      '11:00 created',
      '10:00 created',
      '09:00 created',
    ])
    assert.equal((await runsOf(schedule)).length, 3)
  })

  test('what was missed is made up for by one run, or none', async () => {
    const latest = await add({}, '2026-05-01T08:30:00Z')
    const skip = await add({ catch_up: 'skip' }, '2026-05-01T08:30:00Z')
    await set('2026-05-01T12:20:00Z')
    for (const { schedule_id } of [latest, skip]) await fire(schedule_id)
    assert.deepEqual(await outcomes(latest.schedule_id), ['12:00 created'])
    assert.deepEqual(await outcomes(skip.schedule_id), ['12:00 skipped'])
    const [[made], [left]] = [await firings(latest.schedule_id), await firings(skip.schedule_id)]
    assert.match(made?.reason ?? '', /from 2026-05-01T09:00:00.000Z on were missed/)
    assert.match(left?.reason ?? '', /^It was missed/)
    for (const schedule of [latest, skip])
      assert.equal((await read(schedule)).next_run_at?.toISOString(), '2026-05-01T13:00:00.000Z')
    // A little late is not missed.
    await set('2026-05-01T13:00:40Z')
    assert.equal((await fire(skip.schedule_id))?.firing.outcome, 'created')
  })

  test('a clock that jumps neither fires a time twice nor floods', async () => {
    const schedule = await add({ overlap: 'allow' }, '2026-05-01T08:30:00Z')
    await set('2026-05-01T09:00:01Z')
    await fire(schedule.schedule_id)
    await set('2026-05-01T08:10:00Z')
    assert.equal(await fire(schedule.schedule_id), null)
    // Somebody gives it another time meanwhile, and then this one again.
    await sql`update schedules set next_run_at = '2026-05-01T09:00:00Z' where schedule_id = ${schedule.schedule_id}`.execute(
      db,
    )
    await set('2026-05-01T09:00:02Z')
    assert.equal((await fire(schedule.schedule_id))?.firing.outcome, 'skipped')
    await set('2027-05-01T09:00:00Z')
    for (let i = 0; i < 3; i++) await fire(schedule.schedule_id)
    assert.equal((await runsOf(schedule)).length, 2)
    assert.deepEqual(await outcomes(schedule.schedule_id), ['09:00 created', '09:00 created'])
  })

  test('saving keeps a time that is due, and not one that a wrong clock put ahead', async () => {
    const schedule = await add({}, '2026-05-01T08:30:00Z')
    const save = async (next_run_at: string, cron_schedule = '0 * * * *') => {
      const edit = { schedule_id: schedule.schedule_id, actor: actorOf(schedule.principal_id) }
      const { next_run_at: next } = await resolveSchedule(
        { ...intake, min_schedule_seconds: 1 },
        { name: 'A schedule', cron_schedule, prompt: 'Other.', enabled: true },
        {
          ...{ ...edit, scope: 'Team', now: new Date('2026-05-01T10:30:00Z') },
          before: { ...schedule, sealed: null, next_run_at: new Date(next_run_at) },
        },
      )
      return next?.toISOString()
    }
    assert.equal(await save('2026-05-01T10:00:00.000Z'), '2026-05-01T10:00:00.000Z')
    assert.equal(await save('2026-05-01T10:00:00.000Z', '30 * * * *'), '2026-05-01T11:30:00.000Z')
    assert.equal(await save('2099-05-01T10:00:00.000Z'), '2026-05-01T11:00:00.000Z')
  })

  test('overlap: skipped by default, allowed, or the earlier run is cancelled', async () => {
    for (const [overlap, expected] of [
      ['skip', ['created', 'skipped']],
      ['allow', ['created', 'created']],
      ['cancel', ['created', 'created']],
    ] as const) {
      const schedule = await add({ overlap }, '2026-05-01T08:30:00Z')
      const seen: string[] = []
      for (const hour of ['09', '10']) {
        await set(`2026-05-01T${hour}:00:00Z`)
        seen.push((await fire(schedule.schedule_id))?.firing.outcome ?? '')
      }
      assert.deepEqual(seen, expected, overlap)
      const states = (await runsOf(schedule)).map(({ state }) => state).sort()
      const after =
        overlap === 'allow'
          ? ['QUEUED', 'QUEUED']
          : overlap === 'cancel'
            ? ['CANCELLED', 'QUEUED']
            : ['QUEUED']
      assert.deepEqual(states, after, overlap)
      if (overlap !== 'skip') continue
      const [first] = await runsOf(schedule)
      const [firing] = await firings(schedule.schedule_id)
      assert.match(firing?.reason ?? '', new RegExp(first?.run_id ?? 'none'))
      // Neither who waits for a person nor who is over is in the way.
      await sql`update runs set state = 'BLOCKED' where run_id = ${first?.run_id}::uuid`.execute(db)
      await set('2026-05-01T11:00:00Z')
      assert.equal((await fire(schedule.schedule_id))?.firing.outcome, 'created')
    }
  })

  test('a run that is refused is told of, and the next time is tried again', async () => {
    const environment = 'a'.repeat(22)
    const principal_id = await addPrincipal(db)
    await sql`insert into environments (uid, name, config, creator_id, scope)
      values (${environment}, ${`env-${uuidv7()}`}, '{"name": "x"}', ${principal_id}::uuid, 'Team')
      on conflict do nothing`.execute(db)
    const asked = { agent_config: { environment_id: environment } }
    const schedule = await add(asked, '2026-05-01T08:30:00Z', principal_id)
    await sql`delete from environments where uid = ${environment}`.execute(db)
    for (const hour of ['09', '10']) {
      await set(`2026-05-01T${hour}:00:00Z`)
      assert.equal((await fire(schedule.schedule_id))?.firing.outcome, 'failed')
    }
    const reason = 'agent_config.environment_id: there is no environment with this id.'
    assert.equal((await read(schedule)).last_spawn_error, reason)
    const [firing] = await firings(schedule.schedule_id)
    assert.deepEqual([firing?.reason, firing?.run_id], [reason, null])
    await sql`insert into environments (uid, name, config, creator_id, scope)
      values (${environment}, ${`env-${uuidv7()}`}, '{"name": "x"}', ${principal_id}::uuid, 'Team')`.execute(
      db,
    )
    await set('2026-05-01T11:00:00Z')
    await fire(schedule.schedule_id)
    assert.equal((await read(schedule)).last_spawn_error, null)
    assert.deepEqual(await outcomes(schedule.schedule_id), ['11:00 created', '10:00 failed', '09:00 failed'])
  })

  test('what fails unforeseen is told of, too, and does not fail again for ever', async () => {
    const schedule = await add({}, '2026-05-01T08:30:00Z')
    await sql`update schedules set metadata = '{"a": 1}', config = '{"mcp_servers": {"x": {"url": "no address"}}}'
      where schedule_id = ${schedule.schedule_id}::uuid`.execute(db)
    await set('2026-05-01T09:00:00Z')
    await assert.rejects(fire(schedule.schedule_id))
    assert.deepEqual(await outcomes(schedule.schedule_id), ['09:00 failed'])
    assert.match((await read(schedule)).last_spawn_error ?? '', /The service failed/)
  })

  test('it stops while who saved it last is disabled, and goes on when somebody else saves it', async () => {
    const schedule = await add({}, '2026-05-01T08:30:00Z')
    await sql`update principals set disabled = true where principal_id = ${schedule.principal_id}::uuid`.execute(
      db,
    )
    await set('2026-05-01T09:00:00Z')
    await fire(schedule.schedule_id)
    assert.equal((await runsOf(schedule)).length, 0)
    assert.match(
      (await read(schedule)).last_spawn_error ?? '',
      /someone, who saved the schedule last, is disabled/,
    )
    const other = actorOf(await addPrincipal(db))
    await replaceSchedule(db, schedule.schedule_id, other, async (_trx, before) => ({
      ...before,
      sealed: null,
    }))
    await set('2026-05-01T10:00:00Z')
    await fire(schedule.schedule_id)
    const [run] = await runsOf(schedule)
    assert.equal(run?.executor.uid, other.principal_id)
    assert.equal(run?.creator.uid, other.principal_id)
  })

  test('values of tool servers are sealed, and reach the run sealed for it', async () => {
    const mcp_servers = {
      tracker: { url: 'https://u:p@tracker.example/mcp?key=v', headers: { 'x-key': 'value-1' } },
    }
    const schedule = await add({ agent_config: { mcp_servers } }, '2026-05-01T08:30:00Z')
    assert.deepEqual(schedule.config.mcp_servers, {
      tracker: { url: 'https://***:***@tracker.example/mcp?***', headers: { 'x-key': '***' } },
    })
    const stored = await sql<{ whole: string }>`
      select row_to_json(s)::text as whole from schedules s where schedule_id = ${schedule.schedule_id}::uuid`.execute(
      db,
    )
    assert.doesNotMatch(stored.rows[0]?.whole ?? '', /value-1|key=v/)
    await set('2026-05-01T09:00:00Z')
    const fired = await fire(schedule.schedule_id)
    const [run] = await readRuns(db, [fired?.firing.run_id ?? ''])
    assert.deepEqual(run?.config.mcp_servers, schedule.config.mcp_servers)
    assert(run?.sealed)
  })

  test('the newest 500 firings are kept, and come in pages', async () => {
    const schedule = await add({}, '2026-05-01T08:30:00Z')
    await sql`insert into schedule_firings (schedule_id, due_at, fired_at, outcome)
      select ${schedule.schedule_id}::uuid, at, at, 'skipped' from generate_series(
        '2026-04-01T00:00:00Z'::timestamptz, '2026-04-25T00:00:00Z', '1 hour') at`.execute(db)
    await set('2026-05-01T09:00:00Z')
    await fire(schedule.schedule_id)
    const pages: FiringRow[] = []
    for (let cursor: string | undefined; ; ) {
      const page = await listFirings(db, schedule.schedule_id, { limit: 99, ...(cursor ? { cursor } : {}) })
      pages.push(...page.firings)
      if (page.next_cursor === null) break
      cursor = page.next_cursor
    }
    assert.equal(pages.length, 500)
    assert.deepEqual(
      pages,
      [...pages].sort((a, b) => b.due_at.getTime() - a.due_at.getTime()),
    )
    assert.equal(pages[0]?.outcome, 'created')
  })

  test('lists are in the order of names, whatever their case, and personal schedules are their owner’s', async () => {
    const owner = await addPrincipal(db)
    const stamp = uuidv7()
    for (const name of ['b', 'A', 'C'])
      await add({ name: `${stamp} ${name}`, team: name !== 'C' }, '2026-05-01T08:30:00Z', owner)
    const namesFor = async (principal_id: string, limit: number) => {
      const names: string[] = []
      for (let cursor: string | undefined; ; ) {
        const query = { limit, ...(cursor ? { cursor } : {}) }
        const page = await listSchedules(db, query, actorOf(principal_id))
        names.push(...page.schedules.map(({ name }) => name))
        if (page.next_cursor === null)
          return names.filter((name) => name.startsWith(stamp)).map((name) => name.at(-1))
        cursor = page.next_cursor
      }
    }
    for (const limit of [1, 1000]) {
      assert.deepEqual(await namesFor(owner, limit), ['A', 'b', 'C'])
      assert.deepEqual(await namesFor(await addPrincipal(db), limit), ['A', 'b'])
    }
  })

  test('each due time of some days is fired once through daylight saving, by whichever of three', async () => {
    const changes = [
      ['Europe/Berlin', '2026-03-28T12:00:00Z'],
      ['Europe/Berlin', '2026-10-24T12:00:00Z'],
      ['America/New_York', '2026-03-07T12:00:00Z'],
      ['America/New_York', '2026-10-31T12:00:00Z'],
    ] as const
    const days = LONG ? 2 : 1
    for (const [time_zone, from] of LONG ? changes : changes.slice(0, 2)) {
      const asked = { time_zone, overlap: 'allow' } as const
      const daily = await add({ ...asked, cron_schedule: '30 2 * * *' }, from)
      const hourly = await add({ ...asked, cron_schedule: '30 * * * *' }, from)
      const end = Date.parse(from) + days * 86_400_000
      for (let time = Date.parse(from); time <= end; time += 30 * 60_000) {
        await set(new Date(time).toISOString())
        await Promise.all([daily, hourly, daily, hourly, daily, hourly].map((one) => fire(one.schedule_id)))
      }
      for (const [{ schedule_id, principal_id, cron_schedule }, count] of [
        [daily, days],
        [hourly, 24 * days],
      ] as const) {
        const recurrence = { cron_schedule, time_zone }
        const expected = nextTimes(recurrence, nextAfter(recurrence, new Date(from)), count)
        const fired = await firings(schedule_id)
        assert.deepEqual(fired.map(({ due_at }) => due_at).reverse(), expected)
        assert(fired.every(({ outcome, reason }) => outcome === 'created' && reason === null))
        assert.equal((await runsOf({ schedule_id, principal_id })).length, count)
      }
    }
  })

  test('many that cannot be fired keep no others from it', async () => {
    await sql`update schedules set next_run_at = null`.execute(db)
    const broken = await Promise.all(Array.from({ length: 25 }, () => add({}, '2026-05-01T07:30:00Z')))
    for (const { schedule_id } of broken)
      await sql`update schedules set time_zone = 'Mars/Olympus' where schedule_id = ${schedule_id}::uuid`.execute(
        db,
      )
    const schedule = await add({}, '2026-05-01T08:30:00Z')
    await set('2026-05-01T09:00:00Z')
    const watch = new Watch(store)
    const log = { info: () => {}, warn: () => {} }
    const stop = startScheduler({ intake, watch, log, clock: CLOCK })
    try {
      await until('it to be fired', async () => (await runsOf(schedule)).length === 1, 30)
    } finally {
      await stop()
      await watch.close()
    }
  })
})
