import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { ScheduledAgentItem, ScheduleFiring } from '@runyard/client'
import { home } from './service.ts'

const LIMIT = { timeout: 600_000 }

const schedule = (...args: string[]) => home.run(['schedule', ...args])
const show = async (name: string): Promise<ScheduledAgentItem> =>
  JSON.parse((await schedule('show', name, '-o', 'json')).stdout) as ScheduledAgentItem

test('one is made, shown, listed, changed, paused, resumed and deleted', LIMIT, async () => {
  writeFileSync(join(home.directory, 'tools.json'), '{"t":{"url":"https://t.example/","headers":{"k":"v"}}}')
  writeFileSync(join(home.directory, 'schema.json'), '{"type":"object"}')
  const identity = (await home.run(['identity', 'create', 'reviewer'])).stdout.trim()
  const made = await schedule(
    ...['create', 'Review', 'Review', 'what is open.', '--cron', '0 9 * * 1-5', '--time-zone', 'Asia/Tokyo'],
    ...['--title', 'Open ones', '--max-cost', '1.5', '--max-minutes', '30'],
    ...['--host', 'nobody', '--metadata', 'team=a', '--overlap', 'allow', '--mcp', 'tools.json'],
    ...['--identity', identity, '--output-schema', 'schema.json'],
  )
  assert.equal(made.code, 0, made.stderr)
  assert.match(made.stdout, /^[0-9a-f-]{36}\n$/)
  assert.match(made.stderr, /^Created\. Next: (\w{3}, \d+ \w{3} \d{4}, 09:00 GMT\+9(; |\n)){3}$/)
  const shown = await schedule('show', 'Review')
  assert.match(
    shown.stdout,
    /^schedule +[0-9a-f-]{36}\nname +Review\ncron +0 9 \* \* 1-5 \(Asia\/Tokyo\)\nnext /,
  )
  assert.match(shown.stdout, /\noverlap +allow\n[\s\S]*\n\nReview what is open\.\n$/)
  const listed = await schedule('list')
  assert.match(listed.stdout, /^SCHEDULE +NAME +CRON +ZONE +NEXT +LAST RUN +SCOPE\n/)
  assert.match(listed.stdout, / Review +0 9 \* \* 1-5 +Asia\/Tokyo +in \d+[dhms] +team\n/)

  const changed = await schedule('update', 'Review', '--cron', '30 8 * * *', '--metadata', 'more=b')
  assert.equal(changed.code, 0, changed.stderr)
  const after = await show('Review')
  assert.deepEqual(
    [after.cron_schedule, after.time_zone, after.overlap],
    ['30 8 * * *', 'Asia/Tokyo', 'allow'],
  )
  assert.deepEqual(after.metadata, { team: 'a', more: 'b' })
  assert.equal(after.agent_uid, identity)
  assert.equal(after.agent_config.worker_host, 'nobody')
  assert.deepEqual(after.agent_config.mcp_servers?.t?.headers, { k: '***' })
  assert.equal((await schedule('update', 'Review', '-n', 'Daily', 'Other', 'words.')).code, 0)
  assert.equal((await schedule('update', 'Daily', '--max-cost', '2')).code, 0)
  const daily = await show('Daily')
  assert.deepEqual([daily.prompt, daily.title], ['Other words.', 'Open ones'])
  assert.deepEqual(daily.output_schema, { type: 'object' })
  assert.deepEqual(daily.budget, { max_cost_usd: 2, max_duration_minutes: 30 })
  assert.match((await schedule('show', 'Daily')).stdout, /\nbudget +2 US dollars, 30 minutes\n/)

  assert.match((await schedule('pause', 'Daily')).stderr, /^It is paused\.\n$/)
  assert.match((await schedule('list')).stdout, / paused +team\n/)
  assert.match((await schedule('resume', after.id)).stderr, /^Next: \w{3}, /)
  assert.equal((await schedule('delete', 'Daily')).stderr, 'Deleted Daily.\n')
  assert.match((await schedule('list')).stderr, /^No schedules\. Make one: /)
})

test('what it did stands in its history, and list finds its runs', LIMIT, async () => {
  await schedule('create', 'Often', '```sh\necho tick\n```', '--cron', '* * * * * *', '--harness', 'runbook')
  assert.match((await schedule('history', 'Often')).stderr, /^$|not due yet/)
  let firings: ScheduleFiring[] = []
  for (const deadline = Date.now() + 60_000; !firings.some(({ run_id }) => run_id); ) {
    assert(Date.now() < deadline, 'It created no run.')
    const { stdout } = await schedule('history', 'Often', '-o', 'json')
    firings = (JSON.parse(stdout) as { firings: ScheduleFiring[] }).firings
  }
  await schedule('pause', 'Often')
  const { stdout } = await schedule('history', 'Often', '-l', '500')
  const run_id = firings.find((firing) => firing.run_id)?.run_id
  assert.match(stdout, /^DUE +OUTCOME +RUN +REASON\n/)
  assert.match(stdout, new RegExp(`created +${run_id}`))
  const { id } = await show('Often')
  const runs = await home.run(['list', '--schedule', id, '-l', '500', '-o', 'ndjson'])
  assert(runs.stdout.includes(`"run_id":"${run_id}"`))
  assert.match((await home.run(['get', run_id ?? ''])).stdout, /\nschedule +Often \(/)
})

test('the times of an expression are shown before there is a schedule', LIMIT, async () => {
  const times = await schedule('times', '0 9 * * 1-5', '--time-zone', 'Asia/Tokyo')
  assert.match(times.stdout, /^(\w{3}, \d+ \w{3} \d{4}, 09:00 GMT\+9\n){3}$/)
  const wrong = await schedule('times', 'daily')
  assert.equal(wrong.code, 1)
  assert.match(wrong.stderr, /must have five fields/)
})

test('one runs at once when it is asked to, and says so when it does not', LIMIT, async () => {
  await schedule(
    'create',
    'Rarely',
    '```sh\necho now\n```',
    '--cron',
    '0 0 1 1 *',
    '--harness',
    'runbook',
    '--paused',
  )
  const watched = await schedule('run', 'Rarely', '--wait')
  assert.equal(watched.code, 0, watched.stderr)
  assert.match(watched.stdout, /now/)
  const firing = JSON.parse((await schedule('run', 'Rarely', '-o', 'json')).stdout) as ScheduleFiring
  assert.equal(firing.outcome, 'created')
  await home.run(['wait', firing.run_id ?? ''])
  await schedule('update', 'Rarely', '--pool', 'nobody')
  const started = await schedule('run', 'Rarely')
  assert.deepEqual([started.code, /^[0-9a-f-]{36}\n$/.test(started.stdout)], [0, true], started.stderr)
  const skipped = await schedule('run', 'Rarely')
  assert.deepEqual([skipped.code, skipped.stdout], [1, ''])
  assert.match(skipped.stderr, /^No run was started\. An earlier run was not over: /)
  assert.match((await schedule('history', 'Rarely')).stdout, /skipped +Asked for by .+\. An earlier run/)
  await schedule('delete', 'Rarely')
})

test('what is wrong is said', LIMIT, async () => {
  const bad = await schedule('create', 'Bad', 'x', '--cron', 'daily')
  assert.deepEqual([bad.code, /^error: --cron: must have five fields/.test(bad.stderr)], [1, true])
  assert.equal((await schedule('create', 'Bad', 'x')).code, 2)
  const none = await schedule('show', 'Nobody')
  assert.deepEqual(
    [none.code, none.stderr.split('\n')[0]],
    [1, 'error: There is no schedule called "Nobody".'],
  )
  for (const personal of [[], ['--personal']])
    await schedule('create', 'Twin', 'x', '--cron', '0 0 1 1 *', '--paused', ...personal)
  const twins = await schedule('pause', 'Twin')
  assert.equal(twins.code, 2)
  assert.match(twins.stderr, /2 schedules are called "Twin": give the id of one\.\nhint: [0-9a-f-]{36}, /)
  assert.equal((await schedule('update', 'Nobody')).code, 1)
  const { id } = JSON.parse((await schedule('list', '-o', 'ndjson')).stdout.split('\n')[0] ?? '{}') as {
    id: string
  }
  assert.equal((await schedule('update', id)).code, 2)
})
