import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { writeSamples } from './request-samples.ts'
import { buildRequest, EMPTY_FORM } from './run-form.ts'

const SERVERS = { tickets: { url: 'https://tickets.example.com/mcp', headers: { note: "it's" } } }
const SCHEMA = { type: 'object' }

const form = {
  ...EMPTY_FORM,
  prompt: `Don't "stop" $HOME\n\`\`\`sh\necho 'ü'\n\`\`\``,
  environment: 'site',
  model: 'openai/gpt-5',
  max_cost: '0.5',
  identity: '0197d0f2-0000-7000-8000-000000000001',
  effort: 'high',
  pool: ' gpu ',
  base_prompt: 'Be brief.\nBe kind.',
  idle_minutes: '5',
  is_public: true,
  label: 'review',
  metadata: 'ticket=42\nteam=web site',
  priority: '-3',
  permissions: 'ask:bash:git push*\ndeny:edit',
  tool_servers: JSON.stringify({ mcpServers: SERVERS }),
  output_schema: JSON.stringify(SCHEMA),
}
const request = buildRequest(form, undefined)
const samples = writeSamples(request, 'http://127.0.0.1:4200/')

/** The arguments that a shell hands to a command of the sample, or what is in the files that it makes for it. */
const PRINT =
  'for word; do case $word in /dev/fd/*) cat "$word" ;; *) printf %s "$word" ;; esac; printf "\\\\0"; done'
const words = (command: string, sample: string): string[] =>
  execFileSync('bash', ['-c', `${command}() { ${PRINT}; }\n${sample}`], { encoding: 'utf8' })
    .split('\0')
    .slice(0, -1)

test('the form becomes the request, without what was left empty', () => {
  assert.deepEqual(request, {
    prompt: form.prompt,
    agent_identity_uid: form.identity,
    config: {
      ...{ environment_id: 'site', model_id: 'openai/gpt-5', harness: { reasoning_level: 'high' } },
      ...{ base_prompt: form.base_prompt, worker_host: 'gpu', idle_timeout_minutes: 5, name: 'review' },
      session_sharing: { public_access: 'VIEWER' },
      permissions: [
        { action: 'ask', tool: 'bash', pattern: 'git push*' },
        { action: 'deny', tool: 'edit' },
      ],
      mcp_servers: SERVERS,
    },
    metadata: { ticket: '42', team: 'web site' },
    priority: -3,
    budget: { max_cost_usd: 0.5 },
    output_schema: SCHEMA,
  })
  assert.deepEqual(buildRequest({ ...EMPTY_FORM, prompt: 'x', is_personal: true }, undefined), {
    ...{ prompt: 'x', team: false },
  })
})

test('a shell reads the same request from the samples', () => {
  const curl = words('curl', samples.curl)
  assert.deepEqual(JSON.parse(curl.at(-1) ?? ''), request)
  assert.deepEqual(words('runyard', samples.Command), [
    ...['run', '--env', 'site', '--model', 'openai/gpt-5', '--reasoning', 'high'],
    ...['--base-prompt', form.base_prompt, '--host', 'gpu', '--idle-minutes', '5'],
    ...['--permission', 'ask:bash:git push*', '--permission', 'deny:edit', '--identity', form.identity],
    ...['--name', 'review', '--metadata', 'ticket=42', '--metadata', 'team=web site', '--priority=-3'],
    ...['--max-cost', '0.5', '--mcp', `${JSON.stringify(SERVERS)}\n`],
    ...['--output-schema', `${JSON.stringify(SCHEMA)}\n`, '--public', form.prompt],
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
