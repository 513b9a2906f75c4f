import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RunItem } from '@runyard/client'
import { writeSamples } from './request-samples.ts'
import { buildRequest, formOf, isWhole } from './run-form.ts'

const run: Partial<RunItem> & Pick<RunItem, 'run_id'> = {
  run_id: '0197d0f2-0000-7000-8000-000000000001',
  prompt: 'Look.',
  creator: { uid: 'ada', type: 'user' },
  executor: { uid: 'reviewer', type: 'service_account' },
  scope: { type: 'Team' },
  metadata: { ticket: '42' },
  agent_config: {
    ...{ name: 'review', environment_id: 'site', worker_host: 'gpu', base_prompt: 'Be brief.' },
    harness: { type: 'oz', model_id: 'm', reasoning_level: 'low' },
    session_sharing: { public_access: 'VIEWER' },
    permissions: [{ action: 'ask', tool: 'bash' }],
    skills: ['acme/site:fix'],
  },
}

/** What the form reads of a run. */
const replay = { kind: 'replay', run: run as RunItem } as const
const start = formOf(replay)
const repeated = { replay_of_run_id: run.run_id }

test('a run is repeated without saying again what it was', () => {
  assert.deepEqual(buildRequest(start, replay), repeated)
  assert.deepEqual(buildRequest({ ...start, prompt: 'Go on.' }, { ...replay, kind: 'fork', sequence: 7 }), {
    ...{ fork_of: { run_id: run.run_id, sequence: 7 }, prompt: 'Go on.' },
  })
})

test('defaults that the service filled in are not shown as if somebody had said them', () => {
  const config = { worker_host: 'default', idle_timeout_minutes: 10 }
  const plain = { kind: 'replay', run: { ...replay.run, agent_config: config } } as const
  const form = formOf(plain)
  assert.deepEqual([form.pool, form.idle_minutes], ['', ''])
  assert.deepEqual(buildRequest(form, plain), repeated)
  assert.deepEqual(buildRequest({ ...form, pool: 'gpu' }, plain).config, { worker_host: 'gpu' })
})

test('what differs is said, also that the link opens nothing any more, and a changed agent as a whole', () => {
  const changed = { ...start, effort: 'high', is_public: false, permissions: '', metadata: '', pool: 'cpu' }
  const request = buildRequest(changed, replay)
  assert.deepEqual(request, {
    ...repeated,
    config: {
      harness: { type: 'oz', model_id: 'm', reasoning_level: 'high' },
      worker_host: 'cpu',
      session_sharing: { public_access: 'NONE' },
      permissions: [],
    },
    metadata: {},
  })
  assert.match(writeSamples(request, 'http://127.0.0.1/').Command, /--no-public$/)
})

test('tool servers are shown with their values masked, said where they differ, and taken away', () => {
  const mcp_servers = { tickets: { url: 'https://tickets.example.com/mcp', headers: { key: '***' } } }
  const config = { ...replay.run.agent_config, mcp_servers }
  const before = { kind: 'replay', run: { ...replay.run, agent_config: config } } as const
  const form = formOf(before)
  assert.deepEqual(JSON.parse(form.tool_servers), mcp_servers)
  assert.deepEqual(buildRequest(form, before), repeated)
  const more = { ...mcp_servers, db: { command: 'db' } }
  assert.deepEqual(buildRequest({ ...form, tool_servers: JSON.stringify(more) }, before).config, {
    mcp_servers: more,
  })
  assert.deepEqual(buildRequest({ ...form, tool_servers: '' }, before).config, { mcp_servers: {} })
})

test('a run of an identity by its own key is not taken for one that was run as it', () => {
  const own = { ...replay.run, creator: replay.run.executor }
  assert.equal(formOf({ kind: 'replay', run: own }).identity, '')
  assert.equal(start.identity, 'reviewer')
})

test('what cannot be read holds the run back', () => {
  assert.equal(isWhole(start), true)
  for (const wrong of [
    { permissions: 'forbid:bash' },
    { prompt: ' ' },
    { tool_servers: '{' },
    { output_schema: '[]' },
  ])
    assert.equal(isWhole({ ...start, ...wrong }), false, JSON.stringify(wrong))
})
