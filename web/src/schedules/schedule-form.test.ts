import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ScheduledAgentItem } from '@runyard/client'
import { creationOf, formOf, isWhole, updateOf } from './schedule-form.ts'

const person = { uid: 'u', type: 'user' as const }
const WRITTEN = {
  name: 'nightly',
  cron_schedule: '0 3 * * *',
  time_zone: 'Asia/Kathmandu',
  enabled: false,
  overlap: 'cancel' as const,
  catch_up: 'skip' as const,
  prompt: ' Look.\n',
  agent_config: { environment_id: 'site', skill_spec: 'acme/site:fix', worker_host: 'gpu', name: 'nightly' },
  metadata: { team: 'web' },
  mode: 'normal' as const,
  agent_uid: 'a',
  ...{ title: 'Nightly', priority: 0, budget: { max_cost_usd: 1, max_tokens: 1000 } },
  output_schema: { type: 'object' },
}
const SCHEDULE: ScheduledAgentItem = {
  ...WRITTEN,
  id: 's',
  created_at: '2026-01-01T00:00:00.000Z',
  updated_at: '2026-01-01T00:00:00.000Z',
  created_by: person,
  updated_by: person,
  scope: { type: 'Team' },
  last_spawn_error: null,
  history: { last_ran: null, next_run: null },
  next_runs: [],
}

test('a form that nobody touched writes the schedule as it was', () => {
  assert.deepEqual(updateOf(formOf(SCHEDULE, 'UTC'), SCHEDULE), WRITTEN)
  const { title: _, priority: __, budget: ___, output_schema: ____, ...plain } = SCHEDULE
  const { title, priority, budget, output_schema: _____, ...written } = WRITTEN
  assert.deepEqual(updateOf(formOf(plain, 'UTC'), plain), written)
  assert.deepEqual(
    updateOf({ ...formOf(plain, 'UTC'), title: ' Nightly ', priority: '0', max_cost: '1' }, plain),
    { ...written, title, priority, budget: { max_cost_usd: 1 } },
  )
})

test('what is taken out goes', () => {
  const form = {
    ...formOf(SCHEDULE, 'UTC'),
    ...{ identity: '', metadata: ' ', skill: '', pool: '' },
    ...{ title: ' ', priority: '', max_cost: '', max_tokens: '', output_schema: '' },
  }
  const { agent_uid: _, ...rest } = WRITTEN
  const agent_config = { environment_id: 'site', name: 'nightly' }
  assert.deepEqual(updateOf(form, SCHEDULE), {
    ...rest,
    ...{ metadata: {}, agent_config },
    ...{ title: null, priority: null, budget: null, output_schema: null },
  })
  assert.deepEqual(updateOf({ ...formOf(SCHEDULE, 'UTC'), max_tokens: '' }, SCHEDULE).budget, {
    max_cost_usd: 1,
  })
})

test('a new one says what was typed, and needs a name, a time, and a prompt or a skill', () => {
  const form = { ...formOf(undefined, 'Europe/Berlin'), name: ' Often ', cron: '* * * * *', prompt: 'Look.' }
  const said = {
    ...{ name: 'Often', cron_schedule: '* * * * *', time_zone: 'Europe/Berlin', prompt: 'Look.' },
    ...{ agent_config: {}, overlap: 'skip', catch_up: 'latest' },
  }
  assert.deepEqual(creationOf(form), said)
  assert.deepEqual(creationOf({ ...form, is_personal: true }), { ...said, team: false })
  assert.deepEqual(creationOf({ ...form, title: 'Often', priority: '-1', max_minutes: '2.5' }), {
    ...said,
    ...{ title: 'Often', priority: -1, budget: { max_duration_minutes: 2.5 } },
  })
  assert.deepEqual(
    [isWhole(form), isWhole({ ...form, prompt: ' ' }), isWhole({ ...form, prompt: '', skill: 'a/b:c' })],
    [true, false, true],
  )
})
