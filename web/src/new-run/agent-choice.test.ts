import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AgentConfig, choiceOf, configOf } from './agent-choice.ts'

const CONFIG: AgentConfig = {
  environment_id: 'site',
  model_id: 'openai/gpt',
  harness: { type: 'claude', model_id: 'opus' },
  base_prompt: 'Be brief.\n',
  worker_host: 'gpu',
  idle_timeout_minutes: 5,
  session_sharing: { public_access: 'VIEWER' },
  skills: ['acme/site:fix'],
}

test('a choice that nobody touched gives the configuration it was made from', () => {
  assert.deepEqual(configOf(choiceOf(CONFIG), CONFIG), CONFIG)
  assert.deepEqual(configOf(choiceOf(undefined), undefined), {})
  const thinking: AgentConfig = { harness: { reasoning_level: 'high' } }
  assert.deepEqual(configOf(choiceOf(thinking), thinking), thinking)
  const nobody: AgentConfig = { session_sharing: { public_access: 'NONE' } }
  assert.deepEqual(configOf(choiceOf(nobody), nobody), nobody)
})

test('what is taken out goes, and what is not chosen here stays', () => {
  const emptied = { ...choiceOf(undefined), model: ' ', pool: ' ' }
  assert.deepEqual(configOf(emptied, CONFIG), {
    skills: ['acme/site:fix'],
    session_sharing: { public_access: 'NONE' },
  })
  assert.deepEqual(configOf({ ...choiceOf(CONFIG), harness: 'codex' }, CONFIG), {
    ...CONFIG,
    harness: { type: 'codex' },
  })
})

test('a run without an environment has the repository that is named', () => {
  const url = 'https://git.example/acme/site'
  const named = { ...choiceOf(undefined), repository: ` ${url} `, ref: 'main' }
  assert.deepEqual(configOf(named, undefined), { repositories: [{ url, ref: 'main' }] })
  assert.deepEqual(configOf({ ...named, ref: '' }, undefined), { repositories: [{ url }] })
  assert.deepEqual(configOf({ ...named, environment: 'site' }, undefined), { environment_id: 'site' })
  const before: AgentConfig = { repositories: [{ url, ref: 'main' }] }
  assert.deepEqual(configOf(choiceOf(before), before), before)
  assert.deepEqual(configOf({ ...choiceOf(before), repository: '' }, before), { repositories: [] })
  // What the form does not show stays.
  for (const repositories of [
    [{ url, depth: 0 }],
    [{ local_path: '/srv/site' }],
    [{ url }, { url: `${url}-2` }],
  ])
    assert.deepEqual(configOf(choiceOf({ repositories }), { repositories }), { repositories })
})

test('the effort goes with the agent, named or not', () => {
  const choice = { ...choiceOf(undefined), effort: 'high' }
  assert.deepEqual(configOf(choice, undefined), { harness: { reasoning_level: 'high' } })
  const before: AgentConfig = { harness: { type: 'oz', model_id: 'm', reasoning_level: 'low' } }
  assert.deepEqual(configOf({ ...choiceOf(before), effort: '' }, before), {
    harness: { type: 'oz', model_id: 'm' },
  })
})
