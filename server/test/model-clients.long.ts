/** The providers' own clients in Python, in their newest version, at the model gateway. `model-clients.test.ts` has those in TypeScript. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { GATE_TOKEN, openModelGate } from './support/model-gate.ts'

const PYTHON = fileURLToPath(new URL('../../test/tools/.venv-clients/bin/python', import.meta.url))
const SCRIPT = fileURLToPath(new URL('./support/model_clients.py', import.meta.url))
const skip =
  !existsSync(PYTHON) && 'The clients are not installed in test/tools (npm run test:long installs them)'

test('openai, anthropic and google-genai get what they ask for, and it is counted', { skip }, async () => {
  await using gate = await openModelGate()
  const { stdout } = await promisify(execFile)(PYTHON, [SCRIPT, gate.url, GATE_TOKEN], { timeout: 120_000 })
  const google = (version: string) => ({
    ...{ [`google ${version}`]: 'Hello.', [`google ${version} stream`]: 'Hello.' },
    ...{ [`google ${version} tokens`]: 30, [`google ${version} embeddings`]: [0.5] },
    ...{ [`google ${version} models`]: ['models/gemini-scripted'], [`google ${version} model`]: 'Gemini' },
  })
  assert.deepEqual(JSON.parse(stdout), {
    ...{ 'openai chat': 'Hello.', 'openai chat stream': 'Hello.' },
    ...{ 'openai responses': 'Hello.', 'openai responses stream': 'Hello.', 'openai response': 'resp_1' },
    ...{ 'openai embeddings': [0.5, 0.25], 'openai completions': 'Hello.' },
    ...{ 'openai models': ['gpt-scripted'], 'openai model': 'gpt-scripted' },
    ...{ anthropic: 'Hello.', 'anthropic stream': 'Hello.', 'anthropic beta': 'Hello.' },
    ...{ 'anthropic tokens': 30, 'anthropic models': ['claude-scripted'], 'anthropic model': 'Claude' },
    ...{ ...google('v1'), ...google('v1beta'), ...google('v1alpha') },
    'google interactions': 'int_1',
  })
  const answered = gate.used.filter(({ model }) => model?.endsWith('-scripted') && !model.startsWith('embed'))
  assert.equal(answered.length, 5 + 3 + 6 + 1)
  for (const { input_tokens, output_tokens } of answered)
    assert.deepEqual([input_tokens, output_tokens], [30, 7])
})
