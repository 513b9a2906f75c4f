import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { writeSamples } from './request-samples.ts'
import { buildRequest, EMPTY_FORM } from './run-form.ts'

const form = {
  ...EMPTY_FORM,
  prompt: `Don't "stop" $HOME\n\`\`\`sh\necho 'ü'\n\`\`\``,
  environment: 'site',
  model: 'openai/gpt-5',
  max_cost: '0.5',
}
const request = buildRequest(form, undefined)
const samples = writeSamples(request, 'http://127.0.0.1:4200/')

/** The arguments that a shell hands to a command of the sample. */
const words = (command: string, sample: string): string[] =>
  execFileSync('bash', ['-c', `${command}() { printf '%s\\0' "$@"; }\n${sample}`], { encoding: 'utf8' })
    .split('\0')
    .slice(0, -1)

test('the form becomes the request, without what was left empty', () => {
  assert.deepEqual(request, {
    prompt: form.prompt,
    config: { environment_id: 'site', model_id: 'openai/gpt-5' },
    budget: { max_cost_usd: 0.5 },
  })
})

test('a shell reads the same request from the samples', () => {
  const curl = words('curl', samples.curl)
  assert.deepEqual(JSON.parse(curl.at(-1) ?? ''), request)
  assert.deepEqual(words('runyard', samples.Command), [
    ...['run', '--env', 'site', '--model', 'openai/gpt-5', '--max-cost', '0.5'],
    form.prompt,
  ])
})

test('Python and JavaScript read the same request from the samples', () => {
  const python = samples.Python.replace('from runyard import Runyard\n', '').replace(
    'client = Runyard()',
    'import json\nclass Runs:\n  def create_and_wait(self, **asked):\n    print(json.dumps(asked)); self.state = 0; return self\nclass Client: runs = Runs()\nclient = Client()',
  )
  const asked = execFileSync('python3', ['-c', python], { encoding: 'utf8' }).split('\n')[0] ?? ''
  assert.deepEqual(JSON.parse(asked), request)
  const literal = /createAndWait\(([\s\S]*)\)\nconsole/.exec(samples.TypeScript)?.[1]
  assert.deepEqual(new Function(`return ${literal}`)(), request)
})
