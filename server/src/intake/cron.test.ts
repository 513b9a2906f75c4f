import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkRecurrence, latestDue, nextAfter, nextTimes, type Recurrence } from './cron.ts'

const NOW = new Date('2026-03-01T00:00:00.000Z')

/** The due times after one moment and until another. */
function dueBetween(cron_schedule: string, time_zone: string, from: string, to: string): string[] {
  const times: string[] = []
  const recurrence = { cron_schedule, time_zone }
  for (
    let time = nextAfter(recurrence, new Date(from));
    time <= new Date(to);
    time = nextAfter(recurrence, time)
  )
    times.push(time.toISOString().replace(':00.000Z', 'Z'))
  return times
}

const refusalOf = (recurrence: Partial<Recurrence>, min_seconds = 10): string => {
  try {
    checkRecurrence({ cron_schedule: '0 9 * * *', time_zone: 'UTC', ...recurrence }, NOW, min_seconds)
    return ''
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

test('due times follow the clock of the time zone', () => {
  assert.deepEqual(dueBetween('0 9 * * *', 'Europe/Berlin', '2026-01-10T00:00Z', '2026-01-11T23:00Z'), [
    '2026-01-10T08:00Z',
    '2026-01-11T08:00Z',
  ])
  assert.deepEqual(
    dueBetween('30 18 * * MON-FRI', 'America/New_York', '2026-07-03T00:00Z', '2026-07-07T00:00Z'),
    ['2026-07-03T22:30Z', '2026-07-06T22:30Z'],
  )
})

test('a due time is never its own next one, and milliseconds do not matter', () => {
  const daily = { cron_schedule: '0 9 * * *', time_zone: 'UTC' }
  assert.equal(
    nextAfter(daily, new Date('2026-03-01T09:00:00.000Z')).toISOString(),
    '2026-03-02T09:00:00.000Z',
  )
  assert.equal(
    nextAfter(daily, new Date('2026-03-01T08:59:59.999Z')).toISOString(),
    '2026-03-01T09:00:00.000Z',
  )
  assert.equal(
    nextAfter(daily, new Date('2026-03-01T09:00:00.001Z')).toISOString(),
    '2026-03-02T09:00:00.000Z',
  )
  const quick = { cron_schedule: '*/5 * * * * *', time_zone: 'UTC' }
  assert.deepEqual(
    nextTimes(quick, nextAfter(quick, new Date('2026-03-01T09:00:00.200Z')), 3).map((time) =>
      time.getUTCSeconds(),
    ),
    [5, 10, 15],
  )
})

// Europe/Berlin: 2026-03-29 01:00Z to +02:00, 2026-10-25 01:00Z to +01:00.
// America/New_York: 2026-03-08 07:00Z to -04:00, 2026-11-01 06:00Z to -05:00.
for (const [zone, spring, missing, autumn, doubled] of [
  ['Europe/Berlin', '2026-03-29', '30 2 * * *', '2026-10-25', '30 2 * * *'],
  ['America/New_York', '2026-03-08', '30 2 * * *', '2026-11-01', '30 1 * * *'],
] as const) {
  const day = (date: string): [string, string] => {
    const noon = Date.parse(`${date}T12:00Z`)
    return [new Date(noon - 36 * 3_600_000).toISOString(), new Date(noon + 36 * 3_600_000).toISOString()]
  }

  test(`${zone}: a daily job in the hour that is left out is due once, at the first time that is there`, () => {
    const times = dueBetween(missing, zone, ...day(spring))
    assert.equal(times.length, 3, times.join(' '))
    assert.equal(times[1], zone === 'Europe/Berlin' ? '2026-03-29T01:00Z' : '2026-03-08T07:00Z')
  })

  test(`${zone}: a daily job in the hour that comes twice is due once, the first time`, () => {
    const times = dueBetween(doubled, zone, ...day(autumn))
    assert.equal(times.length, 3, times.join(' '))
    assert.equal(times[1], zone === 'Europe/Berlin' ? '2026-10-25T00:30Z' : '2026-11-01T05:30Z')
  })

  test(`${zone}: what is due each hour or more often is due evenly through both changes`, () => {
    for (const date of [spring, autumn])
      for (const [cron_schedule, minutes] of [
        ['0 * * * *', 60],
        ['*/15 * * * *', 15],
      ] as const) {
        const times = dueBetween(cron_schedule, zone, ...day(date)).map((time) => Date.parse(time))
        assert.equal(times.length, (72 * 60) / minutes, `${cron_schedule} on ${date}`)
        assert.equal(new Set(times).size, times.length)
        for (const [i, time] of times.entries())
          if (i > 0) assert.equal(time - (times[i - 1] ?? 0), minutes * 60_000)
      }
  })

  test(`${zone}: lists and ranges of hours are times of a day, too, each due once`, () => {
    for (const date of [spring, autumn])
      for (const cron_schedule of ['0 1,2,14 * * *', '30 1-3 * * *', '0 30 1,2,3 * * *']) {
        const times = dueBetween(cron_schedule, zone, ...day(date)).filter(
          (time) => new Date(time).toLocaleDateString('en-CA', { timeZone: zone }) === date,
        )
        assert.equal(new Set(times).size, 3, `${cron_schedule} on ${date}: ${times.join(' ')}`)
        assert.equal(times.length, 3)
      }
  })

  test(`${zone}: backwards the due times are those of forwards`, () => {
    for (const date of [spring, autumn])
      for (const cron_schedule of [
        '30 2 * * *',
        '30 1 * * *',
        '0,45 1,2,14 * * *',
        '*/20 * * * *',
        '*/20 2 * * *',
      ]) {
        const [from, to] = day(date)
        const recurrence = { cron_schedule, time_zone: zone }
        const times = dueBetween(cron_schedule, zone, from, to).map((time) => new Date(time))
        const [first] = times
        assert(first)
        for (let now = first.getTime(); now <= Date.parse(to); now += 25 * 60_000) {
          const latest = times.findLast((time) => time.getTime() <= now)
          assert.deepEqual(latestDue(recurrence, first, new Date(now)), latest, `${cron_schedule} at ${now}`)
        }
      }
  })

  test(`${zone}: every day of a year has its job, once`, () => {
    for (const cron_schedule of [missing, doubled, '0 3 * * *', '59 1 * * *', '0 0 * * *']) {
      const times = dueBetween(cron_schedule, zone, '2026-01-01T12:00Z', '2027-01-01T12:00Z')
      assert.equal(times.length, 365, cron_schedule)
      const days = times.map((time) => new Date(time).toLocaleDateString('en-CA', { timeZone: zone }))
      assert.equal(new Set(days).size, 365, cron_schedule)
    }
  })
}

test('of several due times that have passed the newest one counts', () => {
  const hourly = { cron_schedule: '0 * * * *', time_zone: 'Europe/Berlin' }
  const first = new Date('2026-03-28T22:00:00.000Z')
  const latest = (now: string) => latestDue(hourly, first, new Date(now)).toISOString()
  assert.equal(latest('2026-03-28T22:00:00.000Z'), first.toISOString())
  assert.equal(latest('2026-03-28T22:59:59.999Z'), first.toISOString())
  assert.equal(latest('2026-03-28T23:00:00.000Z'), '2026-03-28T23:00:00.000Z')
  // Through the change.
  assert.equal(latest('2026-03-29T01:30:00.000Z'), '2026-03-29T01:00:00.000Z')
  assert.equal(latest('2026-04-03T05:00:10.000Z'), '2026-04-03T05:00:00.000Z')
  const daily = { cron_schedule: '30 2 * * *', time_zone: 'Europe/Berlin' }
  const before = new Date('2026-03-28T01:30:00.000Z')
  assert.equal(
    latestDue(daily, before, new Date('2026-03-29T20:00:00.000Z')).toISOString(),
    '2026-03-29T01:00:00.000Z',
  )
})

test('what cannot be read, is never due or is due too often is refused with what is wrong', () => {
  assert.equal(refusalOf({}), '')
  assert.equal(refusalOf({ cron_schedule: '0 0 29 2 *' }), '')
  assert.equal(refusalOf({ cron_schedule: '0,30 0-6/2 L JAN,dec mon#1' }), '')
  for (const cron_schedule of ['', '* * * *', '@daily', '0 0 1 1 * * 2030', '0 9 * * ?', '0 9 * * *;x'])
    assert.match(refusalOf({ cron_schedule }), /cron_schedule: must have five fields/, cron_schedule)
  for (const cron_schedule of [
    '60 * * * *',
    '0 24 * * *',
    '0 0 0 * *',
    '0 0 * 13 *',
    'a b c d e',
    '*/0 * * * *',
  ])
    assert.match(refusalOf({ cron_schedule }), /cron_schedule: cannot be read: \S/, cron_schedule)
  for (const cron_schedule of ['0 0 30 2 *', '0 0 31 4,6,9,11 *'])
    assert.match(refusalOf({ cron_schedule }), /cron_schedule: is never due/, cron_schedule)
  for (const time_zone of ['', 'Mars/Olympus', '+02:00', 'CEST?', 'Europe/Berlin '])
    assert.match(refusalOf({ time_zone }), /time_zone: must be the IANA name/, time_zone)
})

test('the least time between two due times is asked of seconds wherever they stand', () => {
  for (const cron_schedule of [
    '* * * * * *',
    '*/5 * * * * *',
    '0,55 * * * * *',
    '0,9 0 9 * * MON',
    '57,3 * 9 * * *',
  ])
    assert.match(
      refusalOf({ cron_schedule }),
      /is due every \d+ seconds, and 10 are the least/,
      cron_schedule,
    )
  for (const cron_schedule of ['*/10 * * * * *', '0,30 * * * * *', '59 0 9 * * *', '* * * * *'])
    assert.equal(refusalOf({ cron_schedule }), '', cron_schedule)
  assert.equal(refusalOf({ cron_schedule: '*/2 * * * * *' }, 2), '')
})
