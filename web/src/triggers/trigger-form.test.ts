import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Trigger } from '@runyard/client'
import { creationOf, formOf, isWhole, updateOf } from './trigger-form.ts'

const person = { uid: 'u', type: 'user' as const }
const WRITTEN = {
  name: 'Issues',
  verification: 'github' as const,
  enabled: false,
  filter: 'payload.ok',
  on_open_run: 'new_run' as const,
  prompt: ' {{payload.issue.body}}\n',
  title: '{{payload.issue.title}}',
  agent_config: {
    ...{ environment_id: 'site', skill_spec: 'acme/site:fix', worker_host: 'gpu' },
    permissions: [{ tool: 'bash', action: 'ask' as const }],
  },
  metadata: { team: 'web' },
  mode: 'orchestrate' as const,
  budget: { max_cost_usd: 1, max_duration_minutes: 2.5 },
  priority: 0,
  output_schema: { type: 'object' },
  agent_uid: 'a',
  reply: { secret: 'GITHUB', when: 'end' as const },
}
const TRIGGER: Trigger = {
  ...WRITTEN,
  trigger_id: 't',
  url: 'https://runyard.example/hooks/t',
  created_at: '2026-01-01T00:00:00.000Z',
  updated_at: '2026-01-01T00:00:00.000Z',
  created_by: person,
  updated_by: person,
  scope: { type: 'Team' },
}

test('a form that nobody touched writes the trigger as it was', () => {
  assert.deepEqual(updateOf(formOf(TRIGGER), TRIGGER), WRITTEN)
})

test('what is taken out goes, and only GitHub is answered', () => {
  const form = {
    ...formOf(TRIGGER),
    verification: 'linear' as const,
    filter: ' ',
    skill: '',
    secret: ' linear-secret ',
    ...{ metadata: '', identity: '', max_cost: '', max_minutes: ' ', priority: '', output_schema: ' ' },
  }
  const { filter: _, reply: __, budget: ___, agent_uid: ____, priority: _____, ...others } = WRITTEN
  const { output_schema: ______, ...rest } = others
  assert.deepEqual(updateOf(form, TRIGGER), {
    ...rest,
    verification: 'linear',
    secret: 'linear-secret',
    metadata: {},
    agent_config: {
      environment_id: 'site',
      worker_host: 'gpu',
      permissions: [{ tool: 'bash', action: 'ask' }],
    },
  })
})

test('a new one says what was typed, and needs a name and a prompt or a skill', () => {
  const form = { ...formOf(undefined), name: ' Hook ', prompt: 'Look.' }
  const said = {
    name: 'Hook',
    verification: 'github',
    on_open_run: 'followup',
    prompt: 'Look.',
    agent_config: {},
  }
  assert.deepEqual(creationOf(form), said)
  assert.deepEqual(creationOf({ ...form, is_personal: true }), { ...said, team: false })
  assert.deepEqual(
    creationOf({ ...form, max_tokens: '1000', priority: '-7', metadata: 'team=web', identity: 'a' }),
    {
      ...said,
      ...{ budget: { max_tokens: 1000 }, priority: -7, metadata: { team: 'web' }, agent_uid: 'a' },
    },
  )
  assert.deepEqual(
    [isWhole(form), isWhole({ ...form, prompt: ' ' }), isWhole({ ...form, prompt: '', skill: 'a/b:c' })],
    [true, false, true],
  )
})
