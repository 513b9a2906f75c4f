/**
 * A failing test of a real repository is fixed and the change comes out as a patch: by the built-in agent and by one that
 * others wrote. examples/broken-sum/transcript.md keeps what they did; `RUNYARD_WRITE=1` writes it anew.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { RunDiff } from '../src/contract/diff.ts'
import type { RunItem } from '../src/contract/run.ts'
import { git } from './support/git.ts'
import {
  type ChatMessage,
  type ChatRequest,
  type ModelServer,
  openModelServer,
  type Reply,
} from './support/model-server.ts'
import { onlyLong } from './support/once.ts'
import { apiOf, startService, type TestService, temporaryDirectory } from './support/service.ts'
import { ofType, printed } from './support/traces.ts'
import { writeTranscript } from './support/transcript-page.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const TOOLS = join(root, 'test/long-tools')
const PAGE = join(root, 'examples/broken-sum/transcript.md')
const PROMPT = 'The tests of this package fail. Fix the code, not the tests, and show that they pass.'

const TEST = 'node --test'
const FIX = "sed -i 's/let i = 1/let i = 0/' sum.js"
const textOf = ({ content }: ChatMessage): string =>
  typeof content === 'string' ? content : (content ?? []).map(({ text }) => text ?? '').join('\n')

/** What a model would do, decided by what it was told last, so that it depends on real outputs. */
function fix({ tools, messages }: ChatRequest): Reply {
  const offered = new Set(tools?.map(({ function: { name } }) => name))
  if (!offered.has('bash')) return { text: 'Fix sum' }
  const bash = (command: string) => [{ name: 'bash', arguments: { command, description: 'Next' } }]
  const results = messages.filter(({ role }) => role === 'tool').map(textOf)
  const last = results.at(-1) ?? ''
  if (results.length === 0) return { text: 'First the tests.', calls: bash(TEST) }
  if (results.length === 1) {
    assert.match(last, /5 !== 6/, 'the model is told what the test found')
    return { text: '`[1, 2, 3]` sums to 5: the first number is missing.', calls: bash('cat sum.js') }
  }
  if (results.length === 2) {
    assert.match(last, /let i = 1/)
    return { text: 'The loop begins at 1. It has to begin at 0.', calls: bash(FIX) }
  }
  if (results.length === 3) return { text: 'The tests again.', calls: bash(TEST) }
  assert.match(last, /pass 2/)
  return { text: 'The loop in `sum.js` skipped the first number. It begins at 0 now, and both tests pass.' }
}

describe('a failing test is fixed', { skip: process.platform !== 'linux' }, () => {
  let model: ModelServer
  let service: TestService
  let api: ReturnType<typeof apiOf>
  let environment_id = ''
  const place = temporaryDirectory('repositories')

  before(async () => {
    const repository = join(place, 'broken-sum')
    for (const name of ['package.json', 'sum.js', 'sum.test.js'])
      cpSync(join(root, 'examples/broken-sum', name), join(repository, name))
    execFileSync('git', ['init', '--quiet', '--initial-branch=main', repository])
    git(repository, 'add', '--all')
    git(repository, 'commit', '--quiet', '-m', 'base')
    model = await openModelServer(fix)
    service = await startService({
      env: {
        ...{ OPENAI_BASE_URL: model.url, RUNYARD_DEFAULT_MODEL: 'openai/scripted' },
        ...{ RUNYARD_LOCAL_REPOS: place, RUNYARD_TOOLS_DIR: TOOLS },
      },
    })
    api = apiOf(service)
    const body = { name: 'broken-sum', repositories: [{ local_path: repository }] }
    environment_id = (await api.json<{ uid: string }>('POST', '/agent/environments', body)).uid
  })
  after(async () => {
    await service?.stop()
    await model?.close()
  })

  async function run(harness?: string): Promise<string> {
    const config = { environment_id, ...(harness && { harness: { type: harness } }) }
    const run_id = await api.create({ prompt: PROMPT, config })
    const ended: RunItem = await api.ended(run_id, 200)
    assert.equal(ended.state, 'SUCCEEDED', JSON.stringify(ended.status_message))
    assert(ended.artifacts.some(({ data }) => 'diff' in data))
    const events = await api.events(run_id)
    assert.match(printed(events), /fail 1[\s\S]*pass 2/)
    const diff = await api.json<RunDiff>('GET', `/agent/runs/${run_id}/diff`)
    assert.deepEqual(
      diff.files.map(({ path, status }) => [path, status]),
      [['sum.js', 'modified']],
    )
    const answer = await fetch(diff.patch?.data.download_url ?? '')
    const patch = await answer.text()
    assert.match(patch, /^-.*let i = 1[\s\S]*^\+.*let i = 0/m)
    assert.equal(ofType(events, 'error').length, 0)
    return writeTranscript(events, patch)
  }

  test('by the built-in agent, as the example shows it', async () => {
    compare('The built-in agent', await run())
  })

  const opencode = existsSync(join(TOOLS, 'node_modules/.bin/opencode'))
  const skip = opencode
    ? process.getuid?.() !== 0 && 'without root there is no way to the gateway on every machine'
    : 'opencode is not installed in test/long-tools'
  onlyLong('by opencode, through the Agent Client Protocol', { skip, timeout: 300_000 }, async () => {
    compare('opencode', await run('opencode'))
  })
})

/** With the part of the page under this heading, up to the next one. */
function compare(heading: string, transcript: string): void {
  const page = readFileSync(PAGE, 'utf8')
  const [above = '', below = ''] = page.split(`\n## ${heading}\n`)
  const next = below.search(/^## /m)
  const rest = next < 0 ? '' : below.slice(next)
  const kept = next < 0 ? below : below.slice(0, next)
  if (process.env.RUNYARD_WRITE) {
    const end = rest === '' ? '\n' : `\n\n${rest}`
    writeFileSync(PAGE, `${above}\n## ${heading}\n\n${transcript}${end}`)
  } else assert.equal(transcript, kept.trim())
}
