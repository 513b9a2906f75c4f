/** Agents as they are published, in a sandbox, with a scripted model behind the service's gateway. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { RunItem } from '../../src/contract/run.ts'
import { ONLY, obeyAgent, said, textOf } from './agent-model.ts'
import { until } from './cluster.ts'
import { openContentServer } from './content-server.ts'
import { removeSandbox } from './docker-images.ts'
import { readMessages } from './event-stream.ts'
import { whyNoDocker } from './machine.ts'
import { openMessageServer } from './message-server.ts'
import { type ChatRequest, openModelServer, type Reply } from './model-server.ts'
import { onlyLong } from './once.ts'
import { openResponsesServer } from './responses-server.ts'
import { type BackendName, TEST_IMAGE } from './sandbox-backends.ts'
import {
  apiOf,
  type DevProcess,
  spawnRunyard,
  startDevProcess,
  startService,
  type TestService,
  temporaryDirectory,
} from './service.ts'
import { findProcesses, ofType, printed, processesOf } from './traces.ts'

export const TOOLS = fileURLToPath(new URL('../../../test/long-tools', import.meta.url))
const KEY = 'sk-canary-5c1f03d2a9'
const LIMIT = { timeout: 300_000 }

export interface TestedAgent {
  harness: string
  /** Its program, to see whether it is installed. */
  program: string
  provider: 'openai' | 'responses' | 'anthropic' | 'google'
  /** It is installed by the command, not in `test/long-tools`. */
  by_command?: true
  /** It may not have written its session in time; where it does not find it again, it is told what was said. */
  forgets?: true
  /** Its command may have begun before it tells of it. */
  tells_late?: true
}

export const OPENCODE: TestedAgent = { harness: 'opencode', program: 'opencode', provider: 'openai' }
export const INSTALLED: TestedAgent = { ...OPENCODE, by_command: true }
export const QWEN: TestedAgent = { harness: 'qwen', program: 'qwen', provider: 'openai' }
export const CLAUDE: TestedAgent = { harness: 'claude', program: 'claude-agent-acp', provider: 'anthropic' }

export const CODEX: TestedAgent = {
  ...{
    harness: 'codex',
    program: 'codex-acp',
    provider: 'responses',
    by_command: true,
    tells_late: true,
  },
}
export const GEMINI: TestedAgent = {
  ...{ harness: 'gemini', program: 'gemini', provider: 'google', by_command: true, forgets: true },
}
export const GOOSE: TestedAgent = {
  ...{ harness: 'goose', program: 'goose', provider: 'openai', by_command: true },
}

function whyNot({ program, by_command }: TestedAgent, sandbox: BackendName): string | false {
  if (!by_command && !existsSync(`${TOOLS}/node_modules/.bin/${program}`))
    return `${program} is not installed in test/long-tools`
  if (process.getuid?.() !== 0) return 'without root there is no way to the gateway on every machine'
  return sandbox === 'docker' && whyNoDocker()
}

/** Providers whose scripted servers say one thing after the other when they are told to. */
const PACED: ReadonlyArray<TestedAgent['provider']> = ['openai', 'anthropic']

interface Opened {
  service: TestService | DevProcess
  api: ReturnType<typeof apiOf>
  requests: () => ChatRequest[]
  restart(): Promise<void>
  create(prompt: string, more?: object): Promise<string>
  close(): Promise<void>
}

/** What npm may need to reach its registry. */
const NETWORK = /^(npm_config_registry$|https?_proxy$|no_proxy$|ssl_cert_|node_extra_ca_certs$)/i

async function install(harness: string, data_dir: string): Promise<void> {
  const { npm_config_cache = join(homedir(), '.npm') } = process.env
  const env = Object.entries(process.env).flatMap(([name, value]) =>
    value && NETWORK.test(name) ? [[name, value]] : [],
  )
  const child = spawnRunyard(['agents', 'install', harness, '--data-dir', data_dir], {
    ...Object.fromEntries(env),
    npm_config_cache,
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (data) => {
      said += data
    })
  const [code] = await once(child, 'close')
  assert.equal(code, 0, said)
}

/** `killed`: the service is a process, which `restart` kills. */
async function open(
  { harness, provider, by_command }: TestedAgent,
  sandbox: BackendName,
  killed: boolean,
): Promise<Opened> {
  const refuse = (status: number, type: string, message: string): Reply => ({
    error: { status, body: { type: 'error', error: { type, message } } },
  })
  const fail = (text: string): Reply | null => {
    if (text.includes('TALK')) return { text: Array(5_000).fill('Word after word. '), pace: () => wait(20) }
    if (text.includes('PROVIDER-REFUSES')) return refuse(400, 'invalid_request_error', 'scripted refusal')
    return text.includes('KEY-REFUSED') ? refuse(401, 'authentication_error', `Incorrect key: ${KEY}`) : null
  }
  const script = (request: ChatRequest) => obeyAgent(request, fail)
  const openai = provider === 'openai' ? await openModelServer(script, { api_key: KEY }) : null
  const anthropic = provider === 'anthropic' ? await openMessageServer(script) : null
  const responses = provider === 'responses' ? await openResponsesServer(script, KEY) : null
  const google = provider === 'google' ? await openContentServer(script, KEY) : null
  const data_dir = temporaryDirectory('data')
  if (by_command) await install(harness, data_dir)
  const start = (): Promise<TestService | DevProcess> =>
    (killed ? startDevProcess : startService)({
      sandbox,
      data_dir,
      env: {
        ...(by_command ? {} : { RUNYARD_TOOLS_DIR: TOOLS }),
        ...(openai ? { OPENAI_BASE_URL: openai.url, OPENAI_API_KEY: KEY } : {}),
        ...(responses ? { OPENAI_BASE_URL: responses.url, OPENAI_API_KEY: KEY } : {}),
        ...(google ? { GOOGLE_GEMINI_BASE_URL: google.url, GEMINI_API_KEY: KEY } : {}),
        ...(anthropic ? { ANTHROPIC_BASE_URL: anthropic.url, ANTHROPIC_API_KEY: KEY } : {}),
        ...(sandbox === 'docker' ? { RUNYARD_DEFAULT_IMAGE: TEST_IMAGE } : {}),
      },
    })
  const runs: string[] = []
  const service = await start()
  const opened: Opened = {
    service,
    api: apiOf(service),
    requests: () =>
      openai?.requests.map(({ body }) => body) ?? (anthropic ?? responses ?? google)?.requests ?? [],
    async restart() {
      assert('kill' in opened.service)
      await opened.service.kill('SIGKILL')
      opened.service = await start()
      opened.api = apiOf(opened.service)
    },
    async create(prompt, more = {}) {
      const run_id = await opened.api.create({ prompt, config: { harness: { type: harness }, ...more } })
      runs.push(run_id)
      return run_id
    },
    async close() {
      await opened.service.stop()
      await openai?.close()
      await anthropic?.close()
      await responses?.close()
      await google?.close()
      if (sandbox === 'docker') for (const run_id of runs) removeSandbox(run_id)
    },
  }
  return opened
}

const assertEnded = (run: RunItem, state: RunItem['state']) =>
  assert.equal(run.state, state, JSON.stringify(run.status_message))

/**
 * A whole turn; with `--long`, whose files try every agent, those that fail and one that is interrupted in mid-stream; with `full`,
 * all that can happen to a turn. A scripted agent shows the same in harness.test.ts and agent-providers.test.ts.
 */
export function testAgent(agent: TestedAgent, sandbox: BackendName, full = false): void {
  describe(`agent ${agent.harness}, ${sandbox}`, { skip: whyNot(agent, sandbox) }, () => {
    let opened: Opened
    let run_id = ''
    let first_id = ''
    before(async () => {
      opened = await open(agent, sandbox, full)
    }, LIMIT)
    after(() => opened?.close())

    /** Not every agent shows what a command prints before it ends. */
    const begun = async (marker: string) => {
      await until('the command', () => findProcesses(marker).length > 0)
      if (agent.tells_late)
        await until('the call', async () => ofType(await opened.api.events(run_id), 'tool.call').length > 0)
    }

    test('a whole turn: instructions, text, a tool, its output, the cost', LIMIT, async () => {
      run_id = await opened.create('Do this.\n$ echo made > made.txt; cat made.txt; echo "$HOME"', {
        base_prompt: 'Speak like a PIRATE.',
      })
      first_id = run_id
      const run = await opened.api.ended(run_id, 200)
      assertEnded(run, 'SUCCEEDED')
      assert.equal(run.resolved?.harness, agent.harness)
      const events = await opened.api.events(run_id)
      const [call] = ofType(events, 'tool.call')
      assert.match(String(call?.data.input.command), /^echo made/)
      assert.match(printed(events), /made\n\/home\/agent/)
      assert.equal(ofType(events, 'tool.result').at(-1)?.data.is_error, false)
      const spoken = ofType(events, 'message.assistant').map(({ data }) => data.text)
      assert(spoken.includes('Let me see.') && spoken.includes('All done.'), JSON.stringify(spoken))
      assert((run.request_usage?.total_tokens ?? 0) >= 15)
      assert(opened.requests().some((request) => /PIRATE/.test(JSON.stringify(request.messages))))
      assert(!JSON.stringify(events).includes(KEY))
    })
    onlyLong(
      'an interrupt in the middle of what it says keeps that, and the next message is done',
      {
        ...LIMIT,
        skip: !PACED.includes(agent.provider) && 'its scripted provider has no pace',
      },
      async () => {
        run_id = await opened.create('$ echo TALK')
        const stream = { accept: 'text/event-stream' }
        const shown = await opened.api.call('GET', `/agent/runs/${run_id}/events`, undefined, stream)
        for await (const { event } of readMessages(shown)) if (event === 'message.assistant.delta') break
        await opened.api.json('POST', `/agent/runs/${run_id}/interrupt`)
        await opened.api.until(run_id, ({ state }) => state === 'BLOCKED', 60)
        const words = ofType(await opened.api.events(run_id), 'message.assistant').map(
          ({ data }) => data.text,
        )
        assert.match(words.join(''), /^Word after/)
        await opened.api.json('POST', `/agent/runs/${run_id}/followups`, {
          message: `${ONLY}\n$ echo instead`,
        })
        assertEnded(await opened.api.ended(run_id, 200), 'SUCCEEDED')
        assert.match(printed(await opened.api.events(run_id)), /instead/)
      },
    )

    onlyLong('what the provider refuses ends the run, as the provider says it', LIMIT, async () => {
      run_id = await opened.create('$ echo PROVIDER-REFUSES')
      const run = await opened.api.ended(run_id, 200)
      assertEnded(run, 'FAILED')
      const message = 'The model provider refused the request (HTTP 400): scripted refusal.'
      assert.deepEqual(run.status_message, { message, error_code: 'invalid_request', retryable: false })
    })

    onlyLong('a key that the provider refuses is named as the cause, and never quoted', LIMIT, async () => {
      run_id = await opened.create('$ echo KEY-REFUSED')
      const run = await opened.api.ended(run_id, 200)
      assertEnded(run, 'ERROR')
      const { error_code, retryable, message } = run.status_message ?? {}
      assert.deepEqual([error_code, retryable], ['external_authentication_required', false], message)
      assert.match(message ?? '', /^The model provider \S+ refused the service's API key\./)
      assert(!JSON.stringify([run, await opened.api.events(run_id)]).includes(KEY))
    })
    if (!full) return

    test('a follow-up goes on in the session of the agent', LIMIT, async () => {
      const before_it = opened.requests().length
      run_id = first_id
      await opened.api.json('POST', `/agent/runs/${run_id}/followups`, {
        message: 'And now:\n$ cat made.txt made.txt',
      })
      const run = await opened.api.until(
        run_id,
        ({ state, attempt }) => attempt === 2 && state === 'SUCCEEDED',
        200,
      )
      assertEnded(run, 'SUCCEEDED')
      const events = await opened.api.events(run_id)
      assert.match(printed(events), /made\s+made/)
      const request = opened
        .requests()
        .slice(before_it)
        .find(({ tools }) => tools?.length)
      assert(request)
      const texts = said(request).map(textOf)
      // Found again or told, it is there once.
      assert.equal(texts.filter((text) => text.includes('Do this.')).length, 1)
      const is_told = texts.some((text) => text.includes('From the service'))
      if (!agent.forgets) assert.equal(is_told, false)
      assert.equal(texts.filter((text) => text.includes('PIRATE')).length, 1)
    })

    test('an interrupt stops the command, and the next message is what is done next', LIMIT, async () => {
      run_id = await opened.create('$ echo first; sleep 4711.1\n$ echo never')
      await begun('4711.1')
      await opened.api.json('POST', `/agent/runs/${run_id}/interrupt`)
      await opened.api.until(run_id, ({ state }) => state === 'BLOCKED', 60)
      assert.deepEqual(findProcesses('4711.1'), [])
      const result = ofType(await opened.api.events(run_id), 'tool.result').at(-1)
      assert.match(result?.data.output ?? '', /^interrupted: /)
      await opened.api.json('POST', `/agent/runs/${run_id}/followups`, {
        message: `${ONLY}\n$ echo instead`,
      })
      assertEnded(await opened.api.ended(run_id, 200), 'SUCCEEDED')
      const events = await opened.api.events(run_id)
      assert.match(printed(events), /instead/)
      assert.doesNotMatch(printed(events), /never/)
    })

    test('a message in the middle of a turn is dealt with in the same attempt', LIMIT, async () => {
      run_id = await opened.create('$ echo first; sleep 4.711')
      await begun('4.711')
      await opened.api.json('POST', `/agent/runs/${run_id}/followups`, { message: '$ echo sec""ond' })
      const run = await opened.api.ended(run_id, 200)
      assertEnded(run, 'SUCCEEDED')
      assert.equal(run.attempt, 1)
      assert.match(printed(await opened.api.events(run_id)), /second/)
    })

    test('a cancelled run leaves no process', LIMIT, async () => {
      run_id = await opened.create('$ echo first; sleep 4711.2')
      await begun('4711.2')
      const started = performance.now()
      await opened.api.json('POST', `/agent/runs/${run_id}/cancel`)
      await until(
        'the end of all processes',
        () => findProcesses('4711.2').length + processesOf(run_id).length === 0,
      )
      const took = performance.now() - started
      assert(took < 3_000, `${took} ms`)
      await opened.api.until(run_id, ({ state }) => state === 'CANCELLED')
    })

    test('a service that is killed in mid-command goes on, and the agent knows', LIMIT, async () => {
      run_id = await opened.create(
        '$ echo x >> count; echo first; [ -e again ] || { touch again; sleep 4711.3; }',
      )
      await begun('4711.3')
      await opened.restart()
      const run = await opened.api.ended(run_id, 250)
      assertEnded(run, 'SUCCEEDED')
      const events = await opened.api.events(run_id)
      const results = ofType(events, 'tool.result')
      assert.match(results[0]?.data.output ?? '', /^interrupted: the worker was lost/)
      const request = opened.requests().findLast(({ tools }) => tools?.length)
      assert(request)
      assert(said(request).some((message) => /begun and then lost/.test(textOf(message))))
      assert.deepEqual(findProcesses('4711.3'), [])
    })
  })
}
