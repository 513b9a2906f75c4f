/** `examples/README.md` word for word but for the ports, against one service with a scripted model. */
import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { setupPython } from '../../scripts/setup-python.ts'
import type { RunItem } from '../src/contract/run.ts'
import { until } from './support/cluster.ts'
import { type ChatRequest, type ModelServer, openModelServer, type Reply } from './support/model-server.ts'
import {
  apiOf,
  BINARY,
  SHARED_CACHE,
  startService,
  type TestService,
  temporaryDirectory,
} from './support/service.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const MODELS = ['gpt-5', 'gpt-5-mini', 'gpt-5-nano']
const TRIAGE = {
  file: 'examples/broken-sum/sum.js',
  severity: 'high',
  cause: 'The loop begins at 1.',
  next_step: 'Run the tests.',
}
const LIMIT = { timeout: 300_000 }

/** Does what the shell blocks of the last message say, fills in the form, and is beaten by one prompt. */
function answer({ model, messages, tools }: ChatRequest): Reply {
  const asked = messages.findLastIndex(({ role }) => role === 'user')
  const { content } = messages[asked] ?? {}
  const prompt = typeof content === 'string' ? content : (content ?? []).map((part) => part.text).join('')
  const done = messages.slice(asked).filter(({ role }) => role === 'tool').length
  if (/beats every model/.test(prompt)) return { error: { status: 400 } }
  if (tools?.some(({ function: { name } }) => name === 'submit_result'))
    return done === 0 ? { calls: [{ name: 'submit_result', arguments: TRIAGE }] } : { text: 'Done.' }
  if (/These are the diffs/.test(prompt)) return { text: 'Take the one of openai/gpt-5.' }
  if (/Change nothing/.test(prompt)) return { text: 'The loop has to begin at 0.' }
  const command = [...prompt.matchAll(/^```sh.*\n([\s\S]*?)^```/gm)][done]?.[1]
  if (command === undefined) return { text: `I have run ${done} commands.` }
  const own = model === 'gpt-5-nano' ? command.replace('let i = 0', 'let i = 0x0') : command
  return { calls: [{ name: 'bash', arguments: { command: own } }] }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

describe('the examples', LIMIT, () => {
  /** A checkout with the examples alone. */
  const directory = temporaryDirectory('examples')
  const bin = temporaryDirectory('bin')
  const python = setupPython()
  const ports: Record<string, number> = {}
  const programs = new Set<ChildProcess>()
  let blocks: Array<{ name: string; command: string }>
  let model: ModelServer
  let service: TestService
  let api: ReturnType<typeof apiOf>
  let environment: string

  before(async () => {
    cpSync(join(root, 'examples'), join(directory, 'examples'), {
      recursive: true,
      filter: (file) => !file.includes('.venv'),
    })
    writeFileSync(join(directory, 'beaten.md'), 'This prompt beats every model.')
    writeFileSync(join(directory, '.gitignore'), 'node_modules\n.runyard\n')
    symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'))
    const git = (...args: string[]) => execFileSync('git', ['-C', directory, ...args], { stdio: 'ignore' })
    git('init')
    git('add', '.')
    git('-c', 'user.name=Test', '-c', 'user.email=test@runyard.test', 'commit', '-m', 'Examples')
    ports['8080'] = await freePort()
    ports['8081'] = await freePort()
    const readme = readFileSync(join(root, 'examples/README.md'), 'utf8')
    blocks = Array.from(readme.matchAll(/<!-- test: (.+) -->\n(`{3,})sh\n([\s\S]*?)\2\n/g), (match) => ({
      name: match[1] ?? '',
      command: (match[3] ?? '').replace(/127\.0\.0\.1:(808[01])/g, (_, port) => `127.0.0.1:${ports[port]}`),
    }))
    model = await openModelServer(answer, { models: MODELS.map((id) => ({ id })) })
    service = await startService({
      data_dir: join(directory, '.runyard'),
      env: {
        ...{ OPENAI_API_KEY: 'a-key', OPENAI_BASE_URL: model.url, RUNYARD_DEFAULT_MODEL: 'openai/gpt-5' },
        RUNYARD_LOCAL_REPOS: directory,
        RUNYARD_PRIVATE_HOSTS: `127.0.0.1:${ports['8081']}`,
      },
    })
    api = apiOf(service)
    // As `runyard dev` does.
    const { base_url, api_key } = service
    writeFileSync(join(directory, '.runyard/client.json'), JSON.stringify({ base_url, api_key }))
    // What `npx` itself does takes longer than the command, and the README's test shows it.
    const npx = `#!/bin/sh\n[ "$1" = runyard ] && shift && exec '${process.execPath}' '${BINARY}' "$@"\n`
    writeFileSync(join(bin, 'npx'), npx, { mode: 0o755 })
    const { code, stdout, stderr } = await type(take('setup').replace(/$/, ' -o json'))
    assert.equal(code, 0, stderr)
    environment = (JSON.parse(stdout) as { uid: string }).uid
  }, LIMIT)
  after(async () => {
    for (const { pid } of programs) if (pid) process.kill(-pid, 'SIGKILL')
    await service?.stop()
    await model?.close()
  }, LIMIT)

  /** The next block of the page, which is to be this one. */
  function take(name: string): string {
    const block = blocks.shift()
    assert.equal(block?.name, name)
    return block.command.trim()
  }

  /** What a person types into the second terminal, in a shell and a process group of its own. */
  function start(command: string, port = '') {
    const folders = 'missing' in python ? [bin] : [bin, dirname(python.python)]
    const child = spawn('bash', ['-c', command], {
      cwd: directory,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: [...folders, process.env.PATH].join(':'),
        HOME: directory,
        ...SHARED_CACHE,
        NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
        RUNYARD_BASE_URL: service.base_url,
        RUNYARD_API_KEY: service.api_key,
        ...(port ? { PORT: String(ports[port]) } : {}),
      },
    })
    return child
  }

  async function type(command: string): Promise<{ code: number | null; stdout: string; stderr: string }> {
    const child = start(command)
    const closed = once(child, 'close')
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
    return { code: ((await closed) as [number | null])[0], stdout, stderr }
  }

  /** A program that stays: what it has printed so far. */
  async function stay(command: string, port: string): Promise<() => string> {
    const child = start(command, port)
    programs.add(child)
    let printed = ''
    for (const output of [child.stdout, child.stderr])
      output.on('data', (chunk: Buffer) => {
        printed += chunk
      })
    await until('the program to listen', () => {
      assert.equal(child.exitCode, null, printed)
      return / listens\.\n/.test(printed)
    })
    return () => printed
  }

  const runsOf = async (query: string) =>
    (await api.json<{ runs: RunItem[] }>('GET', `/agent/runs?sort_by=created_at&sort_order=asc&${query}`))
      .runs

  test('a CI step shows the run and its diff, and fails as the run fails', LIMIT, async () => {
    const well = await type(take('ci-step'))
    assert.equal(well.code, 0, well.stderr)
    assert.match(well.stdout, /✓ Succeeded in [\s\S]*What run \S+ changed:[\s\S]*\+ {2}for \(let i = 0;/)
    const failed = await type('examples/ci-step/agent-step.sh beaten.md example')
    assert.equal(failed.code, 1, failed.stdout)
    const commit = execFileSync('git', ['-C', directory, 'rev-parse', 'HEAD'], { encoding: 'utf8' }).trim()
    const runs = await runsOf(`metadata[commit]=${commit}`)
    assert.deepEqual(
      runs.map(({ state }) => state),
      ['SUCCEEDED', 'FAILED'],
    )
  })

  test('a CI step that is stopped stops its run', LIMIT, async () => {
    writeFileSync(join(directory, 'slow.md'), 'Wait.\n\n```sh\nsleep 600\n```\n')
    const child = start('exec examples/ci-step/agent-step.sh slow.md example')
    const closed = once(child, 'close')
    let printed = ''
    child.stdout.on('data', (chunk: Buffer) => {
      printed += chunk
    })
    await until('the command', () => printed.includes('sleep 600'))
    child.kill('SIGTERM')
    assert.equal(((await closed) as [number])[0], 130)
    const [run] = (await runsOf('name=ci')).slice(-1)
    assert.equal(run?.state, 'CANCELLED')
  })

  const without = 'missing' in python ? python.missing : false
  test('a cron job runs once a day and speaks up only when it fails', {
    ...LIMIT,
    skip: without,
  }, async () => {
    const command = take('cron')
    for (const _ of ['first', 'second']) {
      const { code, stdout, stderr } = await type(command)
      assert.deepEqual([code, stdout, stderr], [0, '', ''])
    }
    assert.equal((await runsOf('name=nightly')).length, 1)
    const failed = await type(`python examples/cron/nightly.py beaten.md ${environment}`)
    assert.equal(failed.code, 1)
    assert.match(failed.stderr, /^The nightly run ended as FAILED: .+\nhttp/)
  })

  test('a back end starts one run for a ticket and says how far it is', LIMIT, async () => {
    await stay(take('backend-service, stays'), '8080')
    const { stdout } = await type(take('backend-service'))
    const said = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { run_id: string; state: string })
    assert.equal(said.length, 3, stdout)
    const ids = new Set(said.map(({ run_id }) => run_id))
    assert.equal(ids.size, 1)
    await api.ended([...ids][0] ?? '')
    const ask = (path: string, init?: RequestInit) => fetch(`http://127.0.0.1:${ports['8080']}${path}`, init)
    assert.equal(((await (await ask('/tickets/T-17')).json()) as RunItem).state, 'SUCCEEDED')
    assert.equal((await ask('/tickets/T-18')).status, 404)
    const put = () => ask('/tickets/T-19', { method: 'PUT', body: 'Say hello.' })
    const together = await Promise.all([put(), put(), put()])
    const same = await Promise.all(together.map((answer) => answer.json() as Promise<RunItem>))
    assert.equal(new Set(same.map(({ run_id }) => run_id)).size, 1)
    assert.equal((await ask('/tickets/T-20', { method: 'PUT', body: '' })).status, 400)
  })

  test('an internal tool prints the form that the agent filled in', { ...LIMIT, skip: without }, async () => {
    const { code, stdout, stderr } = await type(take('internal-tool'))
    assert.equal(code, 0, stderr)
    assert.match(stdout, /^file +examples\/broken-sum\/sum\.js\nseverity +high\n/)
    const failed = await type(
      'echo This beats every model. | python examples/internal-tool/triage.py example',
    )
    assert.equal(failed.code, 1)
  })

  test('a chat bot answers in threads, and takes webhooks of the service only', LIMIT, async () => {
    const printed = await stay(take('chat-bot, stays'), '8081')
    for (const [index, line] of take('chat-bot').split('\n').entries()) {
      const { code, stderr } = await type(line)
      assert.equal(code, 0, stderr)
      // One at a time: messages that come while the agent works are answered together.
      await until(
        'its answer',
        () => printed().split('[general] I have run 1 commands.').length === index + 2,
      )
    }
    const runs = await runsOf('name=chat-bot')
    assert.equal(runs.length, 1)
    const forged = await fetch(`http://127.0.0.1:${ports['8081']}/webhook`, {
      method: 'POST',
      headers: {
        'webhook-id': 'x',
        'webhook-timestamp': String(Math.floor(Date.now() / 1000)),
        'webhook-signature': 'v1,AAAA',
      },
      body: JSON.stringify({ type: 'run.succeeded', data: { run_id: runs[0]?.run_id } }),
    })
    assert.equal(forged.status, 400)
  })

  test('an orchestrator compares what three models changed', { ...LIMIT, skip: without }, async () => {
    const { code, stdout, stderr } = await type(take('orchestrator'))
    assert.equal(code, 0, stderr)
    assert.deepEqual(stdout.trim().split('\n'), [
      'openai/gpt-5: SUCCEEDED, 1 files, +1 -1, the same as openai/gpt-5-mini',
      'openai/gpt-5-mini: SUCCEEDED, 1 files, +1 -1, the same as openai/gpt-5',
      'openai/gpt-5-nano: SUCCEEDED, 1 files, +1 -1',
      '',
      'Take the one of openai/gpt-5.',
    ])
    const [brief] = await runsOf('name=brief')
    const children = await runsOf('name=compare')
    assert.deepEqual(
      children.map(({ parent_run_id }) => parent_run_id),
      children.map(() => brief?.run_id),
    )
    assert.equal(children.length, 3)
    assert.deepEqual(blocks, [], 'every block of the page was tried')
  })
})
