import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { bundleServer, missingServers } from '../../test/support/mcp-servers.ts'
import { openModelServer, type Reply, type Script } from '../../test/support/model-server.ts'
import { openTestSandbox } from '../../test/support/sandbox.ts'
import { TestTurn } from '../../test/support/turn.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import type { ToolServer } from './harness.ts'
import { createLoop } from './loop.ts'
import { openModels } from './models.ts'

let sandbox: Sandbox
before(async () => {
  sandbox = await openTestSandbox()
})
after(() => sandbox.destroy())

type Options = Partial<Pick<ToolServer, 'required' | 'timeout_ms'>> & {
  args?: string[]
  env?: Record<string, string>
}
const command = (
  name: string,
  program: string,
  { args = [], env = {}, ...options }: Options = {},
): ToolServer => ({
  ...{ name, required: false, timeout_ms: 10_000 },
  ...options,
  launch: { type: 'command', command: program, args, env },
})
/** A server written for a test: `answer` is the body of a function of `message`, `say` and `result`. */
const hostile = (name: string, answer: string, options: Options = {}) =>
  command(name, process.execPath, {
    ...options,
    args: ['-e', `${FRAME}\nfunction answer(message) { ${answer} }`],
  })
const FRAME = `
const say = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
const result = (message, result) => say({ id: message.id, result })
const ready = (message) => message.method === 'initialize' && (result(message, { protocolVersion: '2025-06-18',
  capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } }), true)
const list = (message, tools) => message.method === 'tools/list' && (result(message, { tools }), true)
const text = (message, text, more = {}) => result(message, { content: [{ type: 'text', text }], ...more })
let rest = ''
process.stdin.on('data', (data) => {
  rest += data
  const lines = rest.split('\\n')
  rest = lines.pop()
  for (const line of lines) answer(JSON.parse(line))
})
process.stdin.on('end', () => process.exit(0))`
const TOOL = `{ name: 'go', inputSchema: { type: 'object' } }`

async function play(servers: ToolServer[], script: Script, prepare: (turn: TestTurn) => void = () => {}) {
  await using server = await openModelServer(script)
  const turn = new TestTurn({ sandbox, prompt: 'Do it.' })
  turn.tool_servers = servers
  prepare(turn)
  const models = openModels({
    openai: { base_url: server.url, api_key: 'x' },
    default_model: 'openai/scripted',
  })
  const [outcome] = await turn.runSession(createLoop(models, { retry_delay_ms: 1 }))
  assert.deepEqual(turn.late, [])
  const offered = server.requests[0]?.body.tools?.map((tool) => tool.function) ?? []
  const names = offered.map(({ name }) => name).filter((name) => name.includes('__'))
  const results = turn.data('tool.result')
  const system = String(server.requests[0]?.body.messages[0]?.content)
  return { turn, outcome, offered, names, results, system, setup: turn.data('setup') }
}
const call = (name: string, args: Record<string, unknown> = {}): Reply => ({
  calls: [{ name, arguments: args }],
})
const running = async (word: string) => {
  const { collectExec } = await import('../sandbox/sandbox.ts')
  const { stdout } = await collectExec(
    sandbox.exec({ command: `ps -eo args | grep -c '[${word[0]}]${word.slice(1)}'` }),
  )
  return Number(stdout.toString())
}

describe('published servers over stdio', { skip: missingServers() }, () => {
  let filesystem: string
  let everything: string
  before(() => {
    filesystem = bundleServer('filesystem')
    everything = bundleServer('everything')
  })

  test('are called by the model, with their errors', async () => {
    const { stdout } = await collect('pwd')
    const { names, results, setup, turn } = await play(
      [command('files', process.execPath, { args: [filesystem, stdout] })],
      [
        call('files__write_file', { path: `${stdout}/made`, content: 'by a tool server' }),
        call('files__read_text_file', { path: `${stdout}/made` }),
        call('files__read_text_file', { path: '/etc/passwd' }),
        { text: 'Done.' },
      ],
    )
    assert(names.includes('files__read_text_file') && names.includes('files__directory_tree'), names.join())
    assert.deepEqual(
      results.map(({ is_error }) => is_error),
      [false, false, true],
    )
    assert.equal(results[1]?.output, 'by a tool server')
    assert.match(results[2]?.output ?? '', /Access denied/)
    assert.equal((await sandbox.readFile('made')).toString(), 'by a tool server')
    assert.equal(turn.data('tool.call')[0]?.title, 'files: write_file')
    assert.deepEqual(
      setup.map(({ phase, name, status, output }) => [phase, name, status, output?.split('\n')[0]]),
      [['tool_server', 'files', 'finished', `${names.length} tools`]],
    )
    assert.equal(await running('filesystem.mjs'), 0)
  })

  test('give text, pictures and structured content', async () => {
    const { results } = await play(
      [
        command('every thing', process.execPath, {
          args: [everything, 'stdio'],
          env: { CANARY: 'a-variable' },
        }),
      ],
      [
        call('every_thing__get-tiny-image'),
        call('every_thing__get-structured-content', { location: 'Chicago' }),
        call('every_thing__get-env'),
        { text: 'Done.' },
      ],
    )
    const path = /image, image\/png, \d+ bytes, kept as (\/workspace\/artifacts\/\S+\.png)\]/.exec(
      results[0]?.output ?? '',
    )?.[1]
    assert(path, results[0]?.output)
    assert.equal((await sandbox.readFile(path)).subarray(1, 4).toString(), 'PNG')
    assert.match(results[1]?.output ?? '', /"temperature"/)
    assert.match(results[2]?.output ?? '', /a-variable/)
  })
})

async function collect(script: string) {
  const { collectExec } = await import('../sandbox/sandbox.ts')
  const { stdout } = await collectExec(sandbox.exec({ command: script }))
  return { stdout: stdout.toString().trim() }
}

test('a server that does not start is done without, and told with what it printed', async () => {
  const { outcome, setup, system, names } = await play(
    [
      hostile('broken', '', { args: [] }),
      command('dies', 'sh', { args: ['-c', 'echo no such database >&2; exit 3'] }),
      command('absent', 'no-such-program'),
      hostile('good', `ready(message) || list(message, [${TOOL}])`),
    ].slice(1),
    [{ text: 'Done.' }],
  )
  assert.deepEqual(outcome, { state: 'SUCCEEDED' })
  assert.deepEqual(names, ['good__go'])
  assert.deepEqual(
    setup.map(({ name, status }) => [name, status]),
    [
      ['dies', 'failed'],
      ['absent', 'failed'],
      ['good', 'finished'],
    ],
  )
  assert.equal(setup[0]?.output, 'it ended with exit code 3\nno such database')
  assert.match(setup[1]?.output ?? '', /exit code 127\n.*no-such-program/s)
  assert.match(system, /tool server dies could not be started/)
})

test('a run fails without a server that is required', async () => {
  const { outcome, turn } = await play([command('db', 'false', { required: true })], [{ text: 'never' }])
  assert.equal(outcome?.state, 'FAILED')
  assert.equal(outcome?.status_message?.error_code, 'environment_setup_failed')
  assert.match(outcome?.status_message?.message ?? '', /tool server db is required .*exit code 1/s)
  assert.deepEqual(turn.data('message.assistant'), [])
})

test('isError is told to the model, and so is an error of the protocol', async () => {
  const { results } = await play(
    [
      hostile(
        'x',
        `ready(message) || list(message, [${TOOL}]) || (message.method === 'tools/call' && (message.params.arguments.bad
          ? say({ id: message.id, error: { code: -32602, message: 'bad is not good' } })
          : text(message, 'it went wrong', { isError: true })))`,
      ),
    ],
    [call('x__go'), call('x__go', { bad: 1 }), { text: 'Done.' }],
  )
  assert.deepEqual(
    results.map(({ output, is_error }) => [output, is_error]),
    [
      ['it went wrong', true],
      ['bad is not good', true],
    ],
  )
})

test('a call that is never answered ends at its time limit, and the server hears of it', async () => {
  const { results } = await play(
    [
      hostile(
        'slow',
        `ready(message) || list(message, [${TOOL}, { name: 'heard', inputSchema: { type: 'object' } }]);
        if (message.method === 'notifications/cancelled') globalThis.heard = true
        if (message.method === 'tools/call' && message.params.name === 'heard') text(message, String(globalThis.heard))`,
        { timeout_ms: 300 },
      ),
    ],
    [call('slow__go'), call('slow__heard'), { text: 'Done.' }],
  )
  assert.match(results[0]?.output ?? '', /slow did not answer within 0.3 seconds/)
  assert.equal(results[1]?.output, 'true')
})

// A start is given 20 seconds, and a call longer.
test('a turn that is stopped does not wait for a call, nor for a start', { timeout: 15_000 }, async () => {
  for (const never of ['', `ready(message) || list(message, [${TOOL}])`]) {
    const stopLater = (turn: TestTurn) => {
      const stop = () => turn.stop()
      if (never === '') setTimeout(stop, 300)
      else turn.onEvent = (event) => event.type === 'tool.call' && setTimeout(stop, 50)
    }
    const { outcome } = await play(
      [hostile('never', never)],
      [call('never__go'), { text: 'Done.' }],
      stopLater,
    )
    assert.equal(outcome?.state, 'ERROR')
  }
})

test('one of another version of the protocol is told so, not that it was killed for it', async () => {
  const { setup } = await play(
    [
      hostile(
        'old',
        `result(message, { protocolVersion: '1999-01-01',
      capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } })`,
      ),
    ],
    [{ text: 'Done.' }],
  )
  assert.match(setup[0]?.output ?? '', /protocol version.*1999-01-01/)
})

test('a server that dies is started again at the next call', async () => {
  const { results } = await play(
    [
      hostile(
        'frail',
        `ready(message) || list(message, [${TOOL}]) || (message.method === 'tools/call' && (message.params.arguments.die
          ? (console.error('out of luck'), process.exit(9)) : text(message, 'alive')))`,
      ),
    ],
    [call('frail__go', { die: true }), call('frail__go'), { text: 'Done.' }],
  )
  assert.match(results[0]?.output ?? '', /broke off: it ended with exit code 9\nout of luck/)
  assert.equal(results[0]?.is_error, true)
  assert.equal(results[1]?.output, 'alive')
})

// A call is given 10 seconds.
test('an answer that is none of the protocol is told at once, and the server goes on', {
  timeout: 9_000,
}, async () => {
  const answers = [
    `'{"jsonrpc":"2.0","id":' + message.id + ',"result":null}'`,
    `'{"id":' + message.id + ',"result":{"content":[]}}'`,
    `'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Nobody can read that."}}'`,
    `'{"jsonrpc":"2.0","error":{"code":-32600,"message":"Nobody at all."}}'`,
    `'{"jsonrpc":"2.0","id":' + message.id + ',"result":' + '{"a":'.repeat(1e4) + '1' + '}'.repeat(1e4) + '}'`,
    // A little longer than a message may be: its end comes with the piece in which that shows.
    `'{"jsonrpc":"2.0","id":' + message.id + ',"result":{"content":[],"x":"' + 'x'.repeat(8 * 1024 ** 2) + '"}}'`,
    `'{"error":"of a log","result":1}\\n' + '{"jsonrpc":"2.0","id":77,"result":null}\\n' + '{"jsonrpc":"2.0","id":"' + message.id + '","result":{"content":[]}}'`,
  ]
  const { results } = await play(
    [
      hostile(
        'odd',
        `ready(message) || list(message, [${TOOL}]) || (message.method === 'tools/call' &&
          console.log([${answers.join(', ')}][message.params.arguments.which]))`,
      ),
    ],
    [...answers.map((_, which) => call('odd__go', { which })), { text: 'Done.' }],
  )
  const odd =
    /^The answer of the tool server is none that MCP has, or is nested too deeply\. It begins with \{/
  const told = [
    odd,
    // Without `jsonrpc` it is clear all the same.
    null,
    /^Nobody can read that\.$/,
    /^Nobody at all\.$/,
    odd,
    /broke off: it sent a message that is too long/,
  ]
  for (const [at, expected] of told.entries()) {
    assert.equal(results[at]?.is_error, expected !== null)
    assert.match(results[at]?.output ?? '', expected ?? /^\(no output\)$/)
  }
  assert.equal(results[6]?.is_error, false, results[6]?.output)
})

test('so it is of a server with an address', async () => {
  const server = createServer(async (request, response) => {
    const { id, method } = JSON.parse((await text(request)) || '{}')
    const results: Record<string, unknown> = {
      initialize: {
        ...{ protocolVersion: '2025-06-18', serverInfo: { name: 'x', version: '1' } },
        capabilities: { tools: {} },
      },
      'tools/list': { tools: [{ name: 'go', inputSchema: { type: 'object' } }] },
      'tools/call': null,
    }
    if (id === undefined) return response.writeHead(method ? 202 : 405).end()
    const answer =
      method in results ? { result: results[method] } : { error: { code: -32601, message: method } }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const launch = { type: 'url' as const, url: `http://127.0.0.1:${port}/mcp`, headers: {}, fetch }
  const { results } = await play(
    [{ name: 'far', required: true, timeout_ms: 10_000, launch }],
    [call('far__go'), { text: 'Done.' }],
  )
  server.close()
  assert.match(results[0]?.output ?? '', /^The answer of the tool server is none that MCP has/)
})

test('an answer that nobody waits for costs nothing: one to no call, or to one that was given up', async () => {
  const answer = `const answer = (id) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result: { content: [] } }));`
  const slow = hostile(
    'slow',
    `${answer} ready(message) || list(message, [${TOOL}]) || (message.method === 'tools/call' && (message.params.arguments.late
      ? setTimeout(() => answer(message.id), 600) : (answer(999), setTimeout(() => text(message, 'alive'), 900))))`,
  )
  const { results } = await play(
    [
      { ...slow, timeout_ms: 300 },
      { ...slow, name: 'patient' },
    ],
    [call('slow__go', { late: true }), call('patient__go'), { text: 'Done.' }],
  )
  assert.match(results[0]?.output ?? '', /did not answer within 0\.3 seconds/)
  assert.equal(results[1]?.output, 'alive')
})

test('what a hostile server lists is cut to what a provider takes', async () => {
  const many = `Array.from({ length: 5000 }, (_, i) => ({ name: 't' + i, inputSchema: { type: 'object' } }))`
  const odd = `[
    { name: 'long', description: 'd'.repeat(1e6) + '\\u001b[2J', inputSchema: { type: 'object' } },
    { name: 'escape\\u001b[2J ../x', inputSchema: { type: 'object' } },
    { name: 'escape\\u001b[2J ../x', inputSchema: { type: 'object' } },
    { name: 'escape\\u001b[2J :./x', inputSchema: { type: 'object' } },
    { name: 'n'.repeat(500), inputSchema: { type: 'object' } },
    { name: 'string', inputSchema: { type: 'string' } },
    { name: 'invalid', inputSchema: { type: 'object', properties: { a: { type: 'strng' } } } },
    { name: 'huge', inputSchema: { type: 'object', description: 'x'.repeat(1e5) } },
    { name: 'deep', inputSchema: JSON.parse('{"a":'.repeat(50) + '{}' + '}'.repeat(50)) },
    { name: 'fine', inputSchema: { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] } },
  ]`
  const { names, offered, setup } = await play(
    [
      hostile('odd', `ready(message) || list(message, ${odd})`),
      hostile('many', `ready(message) || list(message, ${many})`),
      hostile('more', `ready(message) || list(message, ${many})`),
    ],
    [{ text: 'Done.' }],
  )
  // OpenAI takes 128 in all, our own among them; the run may still get load_skill.
  assert.equal(offered.length, 127)
  assert(names.includes('many__t50'))
  assert.match(
    setup[2]?.output ?? '',
    /^0 tools\nleft out: more tools: its list is too long\nleft out: t0: there are 128 tools at most, of the agent and all its servers/,
  )
  const rest = names.filter((name) => name.startsWith('odd__'))
  assert.deepEqual(
    rest.map((name) => name.replace(/_[0-9a-f]{8}$/, '_HASH')),
    [
      'odd__long',
      'odd__escape__2J____x',
      'odd__escape__2J____x_2',
      `odd__${'n'.repeat(50)}_HASH`,
      'odd__fine',
    ],
  )
  assert(names.every((name) => /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/.test(name)))
  assert.equal(new Set(names).size, names.length)
  const long = offered.find(({ name }) => name === 'odd__long')?.description ?? ''
  assert(long.length < 5000)
  assert.match(
    setup[0]?.output ?? '',
    /^5 tools\nleft out: escape.* lists it twice\n.*string: .*not valid\n.*invalid: .*not valid\n.*huge: .*too long\n.*deep: /s,
  )
})

test('output without end, of whatever kind, costs the server its life and nobody else anything', {
  timeout: 60_000,
}, async () => {
  const endless = (what: string) => `for (;;) require('node:fs').writeSync(1, ${what})`
  const before = process.memoryUsage().rss
  const { outcome, setup, names } = await play(
    [
      hostile('line', endless(`'x'.repeat(65536)`)),
      hostile('noise', endless(`('x'.repeat(1000) + '\\n').repeat(64)`)),
      hostile(
        'notes',
        endless(
          `(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: { a: 'x'.repeat(9000) } }) + '\\n').repeat(8)`,
        ),
      ),
      hostile(
        'nested',
        `process.stdout.write('{"jsonrpc":"2.0","id":' + message.id + ',"result":' + '{"a":'.repeat(1e5) + '1' + '}'.repeat(1e5) + '}\\n'); process.exit(1)`,
      ),
      hostile(
        'pages',
        `ready(message) || (message.method === 'tools/list' && result(message, { tools: [${TOOL}], nextCursor: 'again' }))`,
      ),
    ],
    [{ text: 'Done.' }],
  )
  assert.deepEqual(outcome, { state: 'SUCCEEDED' })
  assert.deepEqual(
    setup.map(({ name, status, output }) => [name, status, output?.split('\n')[0]]),
    [
      ['line', 'failed', 'it sent a message that is too long'],
      ['noise', 'failed', 'it sends without end'],
      ['notes', 'failed', 'it sends without end'],
      ['nested', 'failed', 'it ended with exit code 1'],
      ['pages', 'finished', '1 tools'],
    ],
  )
  assert.equal(names.length, 1)
  assert(process.memoryUsage().rss - before < 300 * 1024 ** 2)
})

test('a long answer is cut in the middle, and its escapes are left out', async () => {
  const { results } = await play(
    [
      hostile(
        'x',
        `ready(message) || list(message, [${TOOL}]) || (message.method === 'tools/call' && text(message, '\\u001b[31mA\\0' + 'x'.repeat(3e6) + 'Z'))`,
      ),
    ],
    [call('x__go'), { text: 'Done.' }],
  )
  assert.match(
    results[0]?.output ?? '',
    /^\[31mAx+\n\[… \d+ characters left out; all of it is in \/workspace\/artifacts\/tool-output\/\S+\.txt …\]\nx+\[…\]$/,
  )
  assert((results[0]?.output ?? '').length < 31_000)
})

test('servers stay up from turn to turn, and end with the session', async () => {
  await using server = await openModelServer(({ messages }) =>
    messages.at(-1)?.role === 'tool' ? { text: 'ok' } : call('count__go'),
  )
  const turn = new TestTurn({ sandbox, prompt: 'One.' })
  const counts = `globalThis.n ??= 0; ready(message) || list(message, [${TOOL}]) || (message.method === 'tools/call' && text(message, 'MARK' + String(globalThis.n += 1)))`
  turn.tool_servers = [hostile('count', counts)]
  const models = openModels({
    openai: { base_url: server.url, api_key: 'x' },
    default_model: 'openai/scripted',
  })
  await turn.runSession(createLoop(models), ['Two.', 'Three.'])
  assert.deepEqual(
    turn.data('tool.result').map(({ output }) => output),
    ['MARK1', 'MARK2', 'MARK3'],
  )
  assert.equal(turn.data('setup').length, 1)
  assert.equal(await running("'MARK'"), 0)
})
