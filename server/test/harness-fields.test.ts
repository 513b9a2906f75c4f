/** Every harness with every field of a request: taken, or refused at create as the documentation says. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import { AmbientAgentConfig } from '../src/contract/agent-config.ts'
import { RunAgentRequest } from '../src/contract/run-request.ts'
import { NOBODY } from './support/each-service.ts'
import { apiOf, startService, type TestService } from './support/service.ts'

type Fields = Record<string, unknown>
const PAGE = new URL('../../docs/harnesses.md', import.meta.url)
const OWN = { 'your own¹': 'mine', 'with `provider`¹': 'ours' }
const AGENTS = {
  mine: { command: ['mine', '--acp'] },
  ours: { command: ['ours'], env: { MODEL: '{model}' }, provider: 'openai' },
}
const FILE = { file_name: 'a.txt', mime_type: 'text/plain', data: 'YQ==' }

/** A request for each line of the table. */
const REFUSABLE: Record<string, Fields> = {
  '`output_schema`': { output_schema: { type: 'object' } },
  '`budget.max_tokens`': { budget: { max_tokens: 1 } },
  '`budget.max_cost_usd`': { budget: { max_cost_usd: 1 } },
  '`config.model_id` `anthropic/…`': { config: { model_id: 'anthropic/claude-x' } },
  '`config.model_id` `openai/…`': { config: { model_id: 'openai/gpt-x' } },
  '`config.model_id` `google/…`': { config: { model_id: 'google/gemini-x' } },
  '`config.model_id`, another name²': { config: { harness: { model_id: 'sonnet' } } },
  '`config.fallback_model_ids`': { config: { fallback_model_ids: ['openai/gpt-y'] } },
  '`config.harness.reasoning_level`³': { config: { harness: { reasoning_level: 'high' } } },
  '`config.base_prompt`': { config: { base_prompt: 'Be brief.' } },
  '`config.skills`, more than one': { config: { skills: ['a', 'b'] } },
  '`config.mcp_servers`⁴': { config: { mcp_servers: { files: { command: 'files' } } } },
  '`config.permissions` that ask or deny': { config: { permissions: [{ tool: 'bash', action: 'ask' }] } },
}

/** What each harness takes; of a field in the table, what asks for nothing. */
const TAKEN: Record<string, Fields> = {
  prompt: {},
  skill: { skill: 'acme/site:deploy' },
  title: { title: 'A title' },
  attachments: { attachments: [FILE] },
  metadata: { metadata: { ticket: '4' } },
  mode: { mode: 'normal' },
  team: { team: true },
  interactive: { interactive: true },
  priority: { priority: 3 },
  budget: { budget: { max_duration_minutes: 5 } },
  'config.name': { config: { name: 'Fixer' } },
  'config.model_id': { config: { model_id: '' } },
  'config.fallback_model_ids': { config: { fallback_model_ids: [] } },
  'config.base_prompt': { config: { base_prompt: '' } },
  'config.environment_id': { config: { environment_id: 'plain' } },
  'config.repositories': { config: { repositories: [] } },
  'config.skill_spec': { config: { skill_spec: 'acme/site:deploy' } },
  'config.skills': { config: { skills: ['acme/site:deploy'] } },
  'config.mcp_servers': { config: { mcp_servers: {} } },
  'config.computer_use_enabled': { config: { computer_use_enabled: false } },
  'config.idle_timeout_minutes': { config: { idle_timeout_minutes: 5 } },
  'config.worker_host': { config: {} },
  'config.harness': { config: { harness: {} } },
  'config.permissions': { config: { permissions: [{ tool: 'bash', action: 'allow' }] } },
  'config.session_sharing': { config: { session_sharing: { public_access: 'VIEWER' } } },
  'config.harness_auth_secrets': { config: { harness_auth_secrets: {} } },
  'config.secrets': { config: { secrets: [] } },
  'config.memory_stores': { config: { memory_stores: [] } },
  'config.inference_providers': { config: { inference_providers: { aws: { disabled: true } } } },
  'config.credential_strategy': { config: { credential_strategy: 'EXECUTOR' } },
  'config.computer_use_model_id': { config: { computer_use_model_id: 'openai/gpt-x' } },
}

/** Of other runs, whatever their harness; tried by tests of their own. */
const OF_RUNS = ['conversation_id', 'parent_run_id', 'replay_of_run_id', 'fork_of', 'agent_identity_uid']
/** No version has it, whatever the harness. */
const NOT_OFFERED: Record<string, Fields> = {
  on_behalf_of: { on_behalf_of: 'somebody' },
  mode: { mode: 'plan' },
  'config.computer_use_enabled': { config: { computer_use_enabled: true } },
  'config.harness_auth_secrets': { config: { harness_auth_secrets: { claude_auth_secret_name: 'KEY' } } },
  'config.secrets': { config: { secrets: [{ name: 'KEY' }] } },
  'config.runner_id': { config: { runner_id: 'runner' } },
  'config.memory_stores': {
    config: { memory_stores: [{ uid: 'notes', access: 'read_only', instructions: 'Read it.' }] },
  },
  'config.inference_providers': { config: { inference_providers: { aws: { region: 'eu-west-1' } } } },
  'config.credential_strategy': { config: { credential_strategy: 'CREATOR' } },
}

/** The table of the page: for each line of it, what becomes of the field with each harness. */
function readTable(): Map<string, Map<string, string>> {
  const lines = (readFileSync(PAGE, 'utf8').split('\n## ')[1] ?? '').split('\n')
  const [head = [], , ...rows] = lines
    .filter((line) => line.startsWith('| ') || line.startsWith('|--'))
    .map((line) => line.split('|').slice(1, -1))
  const names = head.map((cell) => {
    const name = cell.trim()
    return Object.hasOwn(OWN, name) ? OWN[name as keyof typeof OWN] : name.replaceAll('`', '')
  })
  return new Map(
    rows.map((cells) => [
      cells[0]?.trim() ?? '',
      new Map(cells.slice(1).map((cell, at) => [names[at + 1] ?? '', cell.trim()])),
    ]),
  )
}

describe('a field and a harness', () => {
  const table = readTable()
  let service: TestService
  let api: ReturnType<typeof apiOf>
  before(async () => {
    service = await startService({
      env: { RUNYARD_ACP_AGENTS: JSON.stringify(AGENTS), RUNYARD_MAX_OPEN_RUNS: '0' },
    })
    api = apiOf(service)
    await api.json('POST', '/agent/environments', { name: 'plain' })
  })
  after(() => service?.stop())

  const ask = async (type: string, { config = {}, ...fields }: Fields) => {
    const { harness, ...others } = config as { harness?: object }
    const answer = await api.call('POST', '/agent/runs', {
      prompt: 'Do it.',
      ...fields,
      config: { worker_host: NOBODY, ...others, harness: { ...harness, type } },
    })
    return { status: answer.status, body: (await answer.json()) as { detail?: string; error_code?: string } }
  }

  test('the page has a line for each request that is refused here, and a column for each harness', async () => {
    assert.deepEqual([...table.keys()], Object.keys(REFUSABLE))
    const { body } = await ask('none-such', {})
    const [, names = ''] = /it has (.*)\./.exec(body.detail ?? '') ?? []
    for (const row of table.values()) assert.deepEqual([...row.keys()].sort(), names.split(', ').sort())
  })

  test('together the lists here have every field that there is', () => {
    const named = [...Object.keys(TAKEN), ...OF_RUNS, ...Object.keys(NOT_OFFERED), 'config', 'output_schema']
    const known = [
      ...Object.keys(RunAgentRequest.shape),
      ...Object.keys(AmbientAgentConfig.shape).map((key) => `config.${key}`),
    ]
    assert.deepEqual([...new Set(named)].sort(), known.sort())
  })

  for (const type of table.values().next().value?.keys() ?? [])
    test(`${type} takes what it can honour, and the rest is refused with its name`, async () => {
      for (const [line, request] of Object.entries(REFUSABLE)) {
        const { status, body } = await ask(type, request)
        assert.equal(
          status === 200 ? 'yes' : String(status),
          table.get(line)?.get(type),
          `${line}: ${body.detail}`,
        )
        if (status === 200) continue
        assert.equal(body.error_code, 'invalid_request')
        const field = line.includes('another name') ? 'config.harness.model_id' : /`([\w.]+)`/.exec(line)?.[1]
        assert(body.detail?.startsWith(`${field}: the harness ${type} `), body.detail)
      }
      for (const [field, request] of Object.entries(TAKEN)) {
        const { status, body } = await ask(type, request)
        assert.equal(status, 200, `${field}: ${body.detail}`)
      }
      for (const [field, request] of Object.entries(NOT_OFFERED)) {
        const { status, body } = await ask(type, request)
        assert.deepEqual([status, body.error_code], [403, 'feature_not_available'], field)
      }
    })

  test('all that cannot be honoured is named at once', async () => {
    const { body } = await ask('runbook', {
      output_schema: {},
      config: { model_id: 'openai/gpt-x', base_prompt: 'Be brief.' },
    })
    const named = [...(body.detail ?? '').matchAll(/([\w.]+): the harness runbook/g)].map(
      ([, field]) => field,
    )
    assert.deepEqual(named, ['output_schema', 'config.model_id', 'config.base_prompt'])
  })

  test('an unknown level of reasoning is refused, with those that there are', async () => {
    const { status, body } = await ask('oz', { config: { harness: { reasoning_level: 'galactic' } } })
    assert.equal(status, 400)
    assert.match(body.detail ?? '', /^config\.harness\.reasoning_level: .*minimal, low/)
  })

  test('a schedule and a replay are refused in the same way', async () => {
    const schedule = await api.call('POST', '/agent/schedules', {
      ...{ name: 'Nightly', cron_schedule: '0 3 * * *', prompt: 'Do it.' },
      agent_config: { harness: { type: 'runbook' }, base_prompt: 'Be brief.' },
    })
    assert.equal(schedule.status, 400)
    assert.match(await schedule.text(), /agent_config\.base_prompt: the harness runbook/)
    const run_id = await api.create({
      ...{ prompt: 'Do it.', output_schema: { type: 'object' } },
      config: { worker_host: NOBODY, harness: { type: 'oz' } },
    })
    const replay = await api.call('POST', '/agent/runs', {
      ...{ replay_of_run_id: run_id, config: { harness: { type: 'runbook' } } },
    })
    assert.equal(replay.status, 400)
    assert.match(await replay.text(), /output_schema: the harness runbook/)
  })
})
