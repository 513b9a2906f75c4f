/** Commands that call models: with nothing else let out, by a token that is worth nothing elsewhere, at the run's expense. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { EnvironmentConfig } from '../src/contract/environment.ts'
import { isResting } from '../src/contract/state.ts'
import { removeSandbox } from './support/docker-images.ts'
import { whyNoDocker } from './support/machine.ts'
import { type ModelServer, openModelServer } from './support/model-server.ts'
import { LONG } from './support/once.ts'
import {
  ANTHROPIC_EVENTS,
  GOOGLE_ANSWER,
  openProviderServer,
  type ProviderServer,
} from './support/provider-server.ts'
import { type BackendName, TEST_IMAGE } from './support/sandbox-backends.ts'
import { apiOf, shell, startService, type TestService } from './support/service.ts'
import { ofType, printed } from './support/traces.ts'

const undocked = whyNoDocker()
const is_root = process.getuid?.() === 0

const KEY = 'sk-canary-41ac90be77'
const ANTHROPIC_KEY = 'sk-ant-canary-0e52b1c3'
const BODY = `'{"model":"scripted","messages":[{"role":"user","content":"Say hello."}]}'`
/** `ask ADDRESS HEADER [BODY]` prints the answer and its status. The image of the tests has Node alone. */
const ASK: Record<string, string> = {
  bubblewrap: `ask() { curl -sS -w ' %{http_code}\\n' "$1" -H "$2" \${3:+-d "$3"}; }`,
  docker: `ask() { node -e '
    const [url, header, body] = process.argv.slice(1)
    fetch(url, { headers: [header.split(": ")], ...(body ? { method: "POST", body } : {}) })
      .then(async (answer) => console.log(await answer.text(), answer.status))
      .catch((error) => console.log(error.message))' "$@"; }`,
}
const CHAT = `ask "$OPENAI_BASE_URL/chat/completions" "Authorization: Bearer $OPENAI_API_KEY" ${BODY}`

testOn('bubblewrap', false)
if (LONG) testOn('docker', undocked || (!is_root && 'only root enters containers'))

function testOn(sandbox: BackendName, skip: string | false): void {
  describe(`models for commands, ${sandbox}`, { skip }, () => {
    let openai: ModelServer
    let anthropic: ProviderServer
    let service: TestService
    let api: ReturnType<typeof apiOf>
    const runs: string[] = []

    before(async () => {
      openai = await openModelServer(() => ({ text: 'Hello.' }), { api_key: KEY })
      anthropic = await openProviderServer(({ headers }, response) => {
        if (headers['x-api-key'] !== ANTHROPIC_KEY)
          return response.writeHead(401).end(JSON.stringify(headers))
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.end(ANTHROPIC_EVENTS.join(''))
      })
      service = await startService({
        sandbox,
        env: {
          ...{ OPENAI_BASE_URL: openai.url, OPENAI_API_KEY: KEY },
          ...{ ANTHROPIC_BASE_URL: `${anthropic.url}/v1`, ANTHROPIC_API_KEY: ANTHROPIC_KEY },
          RUNYARD_LOG_LEVEL: 'trace',
          ...(sandbox === 'docker' ? { RUNYARD_DEFAULT_IMAGE: TEST_IMAGE } : {}),
        },
      })
      api = apiOf(service)
    })
    after(async () => {
      await service?.stop()
      await openai?.close()
      anthropic?.close()
      if (sandbox === 'docker') for (const run_id of runs) removeSandbox(run_id)
    })

    let made = 0
    const runIn = async (command: string, config: Partial<EnvironmentConfig> = {}, more: object = {}) => {
      const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', {
        ...{ name: `e${++made}`, egress: 'none', models: true },
        ...config,
      })
      const run_id = await api.create({
        prompt: shell(`${ASK[sandbox]}
${command}`),
        config: { environment_id: uid, harness: { type: 'runbook' } },
        ...more,
      })
      runs.push(run_id)
      const run = await api.until(
        run_id,
        ({ state, is_sandbox_running }) => isResting(state) && !is_sandbox_running,
        60,
      )
      const events = await api.events(run_id)
      const all = JSON.stringify([run, events]) + service.log()
      assert.equal(all.includes(KEY) || all.includes(ANTHROPIC_KEY), false)
      assert.doesNotMatch(all, /rym_[A-Za-z0-9]{20}/)
      return { run, events, output: printed(events), said: run.status_message?.message ?? '' }
    }

    test('are called where nothing else is reached, and what they cost is the run’s', async () => {
      const { run, events, output } = await runIn(`ask http://example.com/ 'a: b'
        ${CHAT}
        ask "$ANTHROPIC_BASE_URL/v1/messages" "x-api-key: $ANTHROPIC_API_KEY" '{"stream":true}'
        env | grep -c '^\\(OPENAI\\|ANTHROPIC\\)'; env | grep -c GEMINI; env | grep OPENAI_API`)
      assert.equal(run.state, 'SUCCEEDED', run.status_message?.message)
      assert.match(output, /"content":"Hello\."/)
      assert.ok(output.includes(ANTHROPIC_EVENTS.join('')))
      assert.match(output, /4\n0\nOPENAI_API_KEY=\*\*\*\n$/)
      assert.match(output, /^(fetch failed|[^{]*\n 403)\n/)
      const used = { total_tokens: 15, input_tokens: 10, output_tokens: 5, cached_input_tokens: 0 }
      assert.deepEqual(
        ofType(events, 'usage').map(({ data }) => data),
        [
          { model_id: 'openai/scripted', by_gateway: true, ...used },
          {
            ...{ model_id: 'anthropic/claude-scripted', by_gateway: true, total_tokens: 37 },
            ...{ input_tokens: 30, output_tokens: 7, cached_input_tokens: 12, cache_write_tokens: 5 },
          },
        ],
      )
      const { input_tokens, output_tokens, total_tokens, cache_read_tokens, cache_write_tokens } =
        run.request_usage ?? {}
      assert.deepEqual([input_tokens, output_tokens, total_tokens], [40, 12, 52])
      assert.deepEqual([cache_read_tokens, cache_write_tokens], [12, 5])
    })

    test('are refused once the budget of the run is spent, which ends it', async () => {
      const before = openai.requests.length
      const { run, output, said } = await runIn(
        `for i in 1 2 3 4 5; do ${CHAT}; sleep 0.3; done`,
        {},
        { budget: { max_tokens: 20 } },
      )
      assert.equal(run.state, 'BLOCKED')
      assert.match(said, /budget of 20 tokens/)
      assert.equal(openai.requests.length - before, 2, output)
    })

    test('whose cost nobody knows end a run with limited money at their first answer', async () => {
      const before = openai.requests.length
      const { run, said } = await runIn(`${CHAT}; sleep 600`, {}, { budget: { max_cost_usd: 100 } })
      assert.equal(run.state, 'FAILED')
      assert.match(said, /max_cost_usd.*"openai\/scripted" is not known/)
      assert.equal(openai.requests.length - before, 1)
    })

    test('are not there for environments that do not ask, and own keys stay', async () => {
      const none = await runIn(
        `env | grep -c BASE_URL; ask http://127.0.0.1:3128/model/openai/v1/models 'a: b'`,
        {
          models: false,
          egress: 'allowlist',
        },
      )
      assert.match(none.output, /^0\nThis is a proxy/)
      const own = await runIn(
        'echo "$OPENAI_API_KEY $OPENAI_BASE_URL" $(echo $ANTHROPIC_API_KEY | cut -c 1-3)',
        {
          variables: { OPENAI_API_KEY: 'mine' },
        },
      )
      assert.equal(own.output, 'mine  rym\n')
    })

    test('are called by the token of the run alone', async () => {
      const { output } = await runIn(
        `for token in no $(echo "$OPENAI_API_KEY" | tr a-z b-za) "$OPENAI_API_KEY"; do
          ask "$OPENAI_BASE_URL/models" "Authorization: Bearer $token"
        done`,
      )
      assert.match(output, /^.* 401\n.* 401\n\{"object":"list".* 200\n$/)
    })

    test('are counted when the last thing a run does is to call one', async () => {
      const { events, run } = await runIn(CHAT)
      assert.equal(ofType(events, 'usage').length, 1)
      assert.equal(run.request_usage?.total_tokens, 15)
    })
  })
}

describe('models for commands', () => {
  test('a worker without any says so, and so does one without a way to the gateway', async () => {
    const google = await openProviderServer((_asked, response) => response.end(JSON.stringify(GOOGLE_ANSWER)))
    const said = async (sandbox: 'bubblewrap' | 'host', env: Record<string, string>) => {
      const service = await startService({ sandbox, env })
      const api = apiOf(service)
      const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', {
        ...{ name: 'e', models: true },
      })
      const config = { environment_id: uid, harness: { type: 'runbook' } }
      const run = await api.ended(await api.create({ prompt: shell('true'), config }), 60)
      await service.stop()
      return [run.state, run.status_message?.message ?? ''] as const
    }
    const [state, message] = await said('bubblewrap', {})
    assert.equal(state, 'FAILED')
    assert.match(message, /lets commands call models, and this worker has none/)
    const [other, reason] = await said('host', { OPENAI_BASE_URL: `${google.url}/v1` })
    assert.equal(other, 'FAILED')
    assert.match(reason, /no way to the gateway, which alone calls models for commands/)
    google.close()
  })
})
