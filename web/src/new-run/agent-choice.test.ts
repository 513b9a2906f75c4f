import assert from 'node:assert/strict'
import { test } from 'node:test'
import { choiceOf, configOf } from './agent-choice.ts'

const CONFIG = {
  environment_id: 'site',
  model_id: 'openai/gpt',
  harness: { type: 'claude', model_id: 'opus' },
  worker_host: 'gpu',
}

test('a choice that nobody touched gives the configuration it was made from', () => {
  assert.deepEqual(configOf(choiceOf(CONFIG), CONFIG), CONFIG)
  assert.deepEqual(configOf(choiceOf(undefined), undefined), {})
})

test('what is taken out goes, and what is not chosen here stays', () => {
  assert.deepEqual(configOf({ environment: '', model: ' ', harness: '' }, CONFIG), { worker_host: 'gpu' })
  assert.deepEqual(configOf({ ...choiceOf(CONFIG), harness: 'codex' }, CONFIG), {
    ...CONFIG,
    harness: { type: 'codex' },
  })
})
