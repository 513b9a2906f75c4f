/**
 * Every method of every published client of the wire format, unmodified: the Python ones sync and async, with strict validation
 * of answers. `support/published-methods.ts` has the decision for each.
 */
import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import OzAPI from 'oz-agent-sdk'
import { setupPython } from '../../scripts/setup-python.ts'
import type { RunItem } from '../src/contract/run.ts'
import type { AgentSkill } from '../src/contract/skill.ts'
import { git } from './support/git.ts'
import { type GitHost, serveGitHost } from './support/git-hosts.ts'
import { addHostedRepository } from './support/hosted-repositories.ts'
import { type ModelServer, openModelServer } from './support/model-server.ts'
import { NPM_METHODS, PYTHON_CLIENTS } from './support/published-methods.ts'
import { answerCalls } from './support/scripted-calls.ts'
import { apiOf, startService, type TestService, temporaryDirectory } from './support/service.ts'

const TOKEN = 'a-token-of-the-host'
const PROGRAM = fileURLToPath(new URL('support/published_client.py', import.meta.url))
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ'
const reference_url = 'https://tickets.example/ABC-1'
const CALLS: Array<[string, Record<string, unknown>]> = [
  ['bash', { command: `echo written | tee r.txt; echo ${PNG} | base64 -d > p.png` }],
  ['plan', { steps: [{ step: 'Read it', status: 'done' }] }],
  ['attach_artifact', { path: 'r.txt', title: 'The report' }],
  ['attach_artifact', { path: 'p.png', title: 'The page', screenshot: true }],
  ['report_reference', { url: reference_url, kind: 'TICKET', title: 'The ticket' }],
  ['open_pull_request', { title: 'A report', body: 'As asked.' }],
]
const SKILL = '---\nname: notes\ndescription: Writes notes.\n---\nWrite them.\n'

describe('the published clients', () => {
  let host: GitHost
  let model: ModelServer
  let service: TestService
  let world: Record<string, string>

  before(async () => {
    const root = temporaryDirectory('hosted')
    addSkill(addHostedRepository(root, 'acme/site'))
    host = await serveGitHost({ root, kind: 'github', token: TOKEN })
    model = await openModelServer(answerCalls, { api_key: 'a-key', models: [{ id: 'scripted' }] })
    const prices = join(temporaryDirectory('prices'), 'prices.json')
    writeFileSync(prices, JSON.stringify({ 'openai/scripted': { input: 1, output: 10 } }))
    service = await startService({
      env: {
        ...{ OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'a-key', RUNYARD_DEFAULT_MODEL: 'openai/scripted' },
        NODE_EXTRA_CA_CERTS: host.ca_file,
        RUNYARD_PRIVATE_HOSTS: host.host,
        RUNYARD_GIT_HOSTS: `${host.host}=github`,
        RUNYARD_GIT_TOKEN: `https://${TOKEN}@${host.host}`,
        RUNYARD_MODEL_PRICES: prices,
        RUNYARD_CONCURRENCY: '4',
      },
    })
    world = await makeWorld()
  })
  after(async () => {
    await service?.stop()
    await model?.close()
    host?.close()
  })

  /** One run that leaves everything that a method can read. */
  async function makeWorld(): Promise<Record<string, string>> {
    const api = apiOf(service)
    await api.json('PUT', '/agent/secrets/OF_SITE', { value: 'a good value' })
    const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', {
      ...{ name: 'site', secrets: ['OF_SITE'], repositories: [{ url: `${host.url}/acme/site` }] },
    })
    const [prompt, title] = [JSON.stringify(CALLS), 'Reads and writes']
    const run_id = await api.create({ prompt, title, config: { environment_id: uid } })
    const run = await api.ended(run_id, 60)
    assert.equal(run.state, 'SUCCEEDED', JSON.stringify(run.status_message))
    const { agents } = await api.json<{ agents: AgentSkill[] }>('GET', '/agent?refresh=true')
    assert.deepEqual(
      agents.map(({ name }) => name),
      ['notes'],
    )
    return {
      ...{ run_id, title, prompt, reference_url, environment_id: uid },
      ...Object.fromEntries(
        run.artifacts
          // The run's changes are a file, too, and not the one that is asked for.
          .filter(({ data }) => !('diff' in data))
          .map((item) => [item.artifact_type, uidOf(item)]),
      ),
      ...{ conversation_id: run.conversation_id ?? '', session_id: run.session_id ?? '' },
      pull_url: `${host.url}/acme/site/pull/1`,
    }
  }

  for (const [name, { class_name, methods }] of Object.entries(PYTHON_CLIENTS)) {
    test(`${name}, sync and async`, { timeout: 300_000 }, async (t) => {
      const python = setupPython()
      if ('missing' in python) return t.skip(python.missing)
      const args = [PROGRAM, name, class_name, service.base_url, service.api_key, JSON.stringify(world)]
      const { stdout } = await promisify(execFile)(python.python, args)
      const outcomes = JSON.parse(stdout) as Record<'sync' | 'async', Record<string, string>>
      for (const [mode, seen] of Object.entries(outcomes)) {
        const wrong = Object.entries({ ...methods, ...seen }).filter(
          ([method]) => seen[method] !== methods[method],
        )
        assert.deepEqual(
          wrong,
          [],
          `${mode}: a method without a line in published-methods.ts, or not as it says`,
        )
      }
    })
  }

  test('oz-agent-sdk of npm', async () => {
    const oz = new OzAPI({ baseURL: service.base_url, apiKey: service.api_key })
    const config = { worker_host: 'nobody' }
    const yearly = { name: 'Yearly', cron_schedule: '0 9 1 1 *', prompt: 'Review.' }
    const { run_id } = await oz.agent.run({ prompt: '[]', config })
    const { id } = await oz.agent.schedules.create(yearly)
    const calls: Record<string, () => Promise<unknown>> = {
      'agent.run': async () => assert(run_id),
      'agent.list': async () => assert.equal((await oz.agent.list()).agents[0]?.name, 'notes'),
      'agent.runs.list': async () =>
        assert((await oz.agent.runs.list()).runs.some((run) => run.run_id === run_id)),
      'agent.runs.retrieve': async () => assert.equal((await oz.agent.runs.retrieve(run_id)).state, 'QUEUED'),
      'agent.runs.cancel': async () => assert.equal(await oz.agent.runs.cancel(run_id), run_id),
      'agent.schedules.create': async () => assert(id),
      'agent.schedules.retrieve': async () => assert.equal((await oz.agent.schedules.retrieve(id)).id, id),
      'agent.schedules.update': async () =>
        assert((await oz.agent.schedules.update(id, { ...yearly, enabled: true })).enabled),
      'agent.schedules.list': async () => assert.equal((await oz.agent.schedules.list()).schedules.length, 1),
      'agent.schedules.pause': async () => assert(!(await oz.agent.schedules.pause(id)).enabled),
      'agent.schedules.resume': async () => assert((await oz.agent.schedules.resume(id)).enabled),
      'agent.schedules.delete': async () => assert((await oz.agent.schedules.delete(id)).success),
    }
    assert.deepEqual(methodsOf(oz).toSorted(), Object.keys(NPM_METHODS).toSorted())
    assert.deepEqual(Object.keys(calls), Object.keys(NPM_METHODS))
    for (const call of Object.values(calls)) await call()
  })
})

/** The methods of a client's resources, by their dotted names. Each resource knows its client. */
function methodsOf(owner: object, path: string[] = []): string[] {
  const parts = Object.entries(owner).flatMap(([name, part]: [string, unknown]) =>
    typeof part === 'object' && part !== null && '_client' in part ? methodsOf(part, [...path, name]) : [],
  )
  const own = path.length ? Object.getOwnPropertyNames(Object.getPrototypeOf(owner)) : []
  return [...own.filter((name) => name !== 'constructor').map((name) => [...path, name].join('.')), ...parts]
}

const uidOf = ({ data }: RunItem['artifacts'][number]): string =>
  ('artifact_uid' in data && data.artifact_uid) || ''

function addSkill(folder: string): void {
  const work = join(temporaryDirectory('work'), 'site')
  execFileSync('git', ['clone', '--quiet', folder, work])
  mkdirSync(join(work, '.agents/skills/notes'), { recursive: true })
  writeFileSync(join(work, '.agents/skills/notes/SKILL.md'), SKILL)
  git(work, 'add', '--all')
  git(work, 'commit', '--quiet', '-m', 'a skill')
  git(work, 'push', '--quiet', 'origin', 'main')
}
