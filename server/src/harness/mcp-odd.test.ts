import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { GO, openServers, programmed, textResult } from '../../test/support/odd-server.ts'
import { openTestSandbox } from '../../test/support/sandbox.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'

// How servers in the field differ from the protocol, as processes.

let sandbox: Sandbox
before(async () => {
  sandbox = await openTestSandbox()
})
after(() => sandbox.destroy())

const listing = (tools: unknown, more: object = {}) =>
  `rest(message, { 'tools/list': ${JSON.stringify({ tools, ...more })} })`
const calling = (result: unknown) => `rest(message, { 'tools/call': ${JSON.stringify(result)} })`

test('a definition that is odd costs itself alone, or is repaired', async () => {
  const tools = [
    { ...GO, description: null },
    { name: 'bare' },
    {
      name: 'null',
      description: null,
      inputSchema: null,
      annotations: null,
      outputSchema: null,
      title: null,
      _meta: null,
    },
    { name: 'number', description: 7, inputSchema: { type: 'object', properties: null, required: null } },
    { name: 'other', input_schema: { type: 'object', properties: { a: { type: 'string' } } } },
    { name: 'text', inputSchema: '{"type":"object","properties":{"b":{"type":"string"}}}' },
    { description: 'nameless', inputSchema: { type: 'object' } },
    { name: '', inputSchema: { type: 'object' } },
    null,
    { name: 'list', inputSchema: [] },
    { name: 'words', inputSchema: { type: 'array', items: {} } },
  ]
  await using servers = await openServers(sandbox, [programmed('x', listing(tools))])
  assert.deepEqual(
    [...servers.tools().keys()],
    ['x__go', 'x__bare', 'x__null', 'x__number', 'x__other', 'x__text'],
  )
  assert.deepEqual(servers.tools().get('x__null')?.input_schema, { type: 'object', properties: {} })
  assert.match(
    servers.setup()[0] ?? '',
    /place 7: it has no name.*place 8: .*place 9: .*list: .*not valid.*words: /s,
  )
  assert.equal((await servers.call('x__bare')).output, 'well')
})

test('a list ends where a server says so, in whatever way, or says the same again', async () => {
  const paged = (last: string) =>
    `if (message.method !== 'tools/list') return rest(message)
     const page = message.params?.cursor === undefined ? 1 : 2
     result(message, { tools: [{ name: 'p' + page }, { name: 'q' + page, inputSchema: {} }], nextCursor: page === 1 ? 'two' : ${last} })`
  const broken = `if (message.method !== 'tools/list') return rest(message)
     message.params?.cursor ? say({ id: message.id, error: { code: -32000, message: 'lost the page' } })
       : result(message, { tools: [{ name: 'p1' }], nextCursor: 7 })`
  await using servers = await openServers(sandbox, [
    programmed('null', paged('null')),
    programmed('empty', paged(`''`)),
    programmed('same', paged(`'two'`)),
    programmed('broken', broken),
    programmed(
      'silent',
      `message.method === 'tools/list' || rest(message, { initialize: { ...well.initialize, capabilities: {} } });
      message.method === 'tools/list' && say({ id: message.id, error: { code: -32601, message: 'no' } })`,
    ),
    programmed('shy', `rest(message, { initialize: { ...well.initialize, capabilities: null } })`),
  ])
  const names = (server: string) =>
    [...servers.tools().keys()].filter((name) => name.startsWith(`${server}__`))
  assert.deepEqual(names('null').length, 4)
  assert.deepEqual(names('empty').length, 4)
  assert.deepEqual(names('same').length, 4)
  assert.deepEqual(names('broken'), ['broken__p1'])
  assert.match(servers.setup()[3] ?? '', /page 2 of its list: .*lost the page/)
  assert.deepEqual([names('silent'), names('shy')], [[], ['shy__go']])
})

test('handshakes that leave out or add things are taken', async () => {
  const handshake = (result: string) => programmed('x', `rest(message, { initialize: ${result} })`)
  for (const result of [
    `{ protocolVersion: '2024-11-05', capabilities: { tools: null, resources: null, logging: true }, serverInfo: null }`,
    `{ capabilities: { tools: true } }`,
    `{ protocolVersion: '1.0', capabilities: [], serverInfo: { name: 'x' }, instructions: null, _meta: null, extra: 1 }`,
    `{ ...well.initialize, protocolVersion: '2031-01-01' }`,
    `{ ...well.initialize, protocolVersion: '2024-10-07', serverInfo: { name: 5, version: 1.2, icons: 'x' }, instructions: ['a'] }`,
  ]) {
    await using servers = await openServers(sandbox, [handshake(result)])
    assert.equal((await servers.call('x__go')).output, 'well', `${result}: ${servers.setup()}`)
  }
})

test('what is not of the protocol among its lines is left out, and what is nearly of it understood', async () => {
  const noisy = `
    raw('INFO starting\\n{"level":"info","msg":"asked"}\\n[1] ready\\n{"result":"of a build"}\\n\\n')
    say({ method: 'notifications/message', params: { level: 'info', data: 'x' } })
    say({ method: 'notifications/of/a/later/version', params: null })
    say({ id: 'ping-1', method: 'ping' })
    say({ id: 'roots-1', method: 'roots/list', params: { _meta: null } })
    say({ method: 'notifications/progress', params: { progressToken: 'none', progress: 1 } })
    if (message.error || message.result) globalThis.answered = (globalThis.answered ?? '') + message.id + (message.error?.code ?? '') + ' '
    if (message.method === 'tools/call') return result(message, { content: [{ type: 'text', text: globalThis.answered }] })
    if (message.id !== undefined && message.method in well) raw('\\ufeff\\x1b[0m  ' + JSON.stringify([{ jsonrpc: '2.0', method: 'notifications/x' },
      { id: String(message.id), jsonrpc: '2.0', result: well[message.method], error: null, extra: 1 }]) + '\\r\\n')`
  await using servers = await openServers(sandbox, [programmed('x', noisy)])
  const { output } = await servers.call('x__go')
  assert.match(output, /ping-1 .*roots-1-32601 /)
})

test('a message over several lines is read, and what only looks like one takes nothing along', async () => {
  const server = programmed(
    'x',
    `raw('{\\n  log: 1\\n}\\n{\\n"never": "closed"\\n')
    if (message.id !== undefined && message.method in well) {
      if (message.method !== 'initialize') raw('}\\n' + JSON.stringify({ jsonrpc: '2.0', id: message.id, result: well[message.method] }, null, 2) + '\\n')
      else rest(message)
    }`,
  )
  await using servers = await openServers(sandbox, [server])
  assert.equal((await servers.call('x__go')).output, 'well', servers.setup()[0])
})

test('errors of odd shapes are told in their words', async () => {
  const errors = [
    `'plainly wrong'`,
    `{ code: 'E_DB', message: 'no such database' }`,
    `{ message: { why: 'nested' } }`,
    `{ code: -32000 }`,
  ]
  const server = programmed(
    'x',
    `message.method === 'tools/call'
    ? say({ id: message.id, error: [${errors.join(', ')}][message.params.arguments.which], result: null }) : rest(message)`,
  )
  await using servers = await openServers(sandbox, [server])
  const told: string[] = []
  for (let which = 0; which < errors.length; which += 1) {
    const { output, is_error } = await servers.call('x__go', { which })
    assert.equal(is_error, true)
    told.push(output)
  }
  assert.deepEqual(told, ['plainly wrong', 'no such database', '{"why":"nested"}', '{"code":-32000}'])
})

test('results of odd shapes are told', async () => {
  const png = Buffer.from('\x89PNG and so on', 'latin1').toString('base64')
  const results: Array<[unknown, RegExp, boolean?]> = [
    [{ structuredContent: { a: 1 } }, /^\{"a":1\}$/],
    [{ content: null, structuredContent: [1, 2] }, /^\[1,2\]$/],
    [{ content: [], structuredContent: { a: 1 }, isError: true }, /^\{"a":1\}$/, true],
    [{ content: [{ type: 'text', text: '' }], structuredContent: { b: 2 } }, /\{"b":2\}$/],
    [{ content: 'as text' }, /^as text$/],
    [{ content: { type: 'text', text: 'alone' } }, /^alone$/],
    [
      { content: ['one', { type: 'text', text: { two: 2 } }, { type: 'text', text: null }] },
      /^one\n\{"two":2\}$/,
    ],
    [{ isError: true }, /^The tool failed and does not say why\.$/, true],
    [{ isError: 'true', content: null }, /^The tool failed/, true],
    [{ isError: true, content: [{ type: 'text' }] }, /^The tool failed/, true],
    [[{ type: 'text', text: 'a list' }], /^a list$/],
    ['only text', /^only text$/],
    [{ toolResult: 'of 2024' }, /^of 2024$/],
    [
      { content: [{ type: 'image', data: `data:image/png;base64,${png}` }] },
      /^\[image, image\/png, 14 bytes, kept as .*\.png\]$/,
    ],
    [
      { content: [{ type: 'audio', data: png, mimeType: null }] },
      /^\[audio, of unknown type, 14 bytes, kept as .*\.bin\]$/,
    ],
    [
      { content: [{ type: 'resource', resource: { uri: 'a://b', text: 'inside', mimeType: null } }] },
      /^\[a:\/\/b\]\ninside$/,
    ],
    [
      { content: [{ type: 'resource', resource: { uri: 'a://b', blob: png } }] },
      /^a:\/\/b: \[file, application\/octet-stream, 14 bytes/,
    ],
    [{ content: [{ type: 'resource_link', uri: 'a://b', name: null }] }, /^\[link: a:\/\/b\]$/],
    [
      {
        content: [
          { type: 'hologram', angle: 3 },
          { type: 'note', text: 'seen' },
        ],
      },
      /hologram.*angle.*\nseen$/,
    ],
    [{ content: [7, true] }, /^7\ntrue$/],
    [{ content: [{ type: 'text', text: 'x', annotations: null, _meta: null }], _meta: null }, /^x$/],
  ]
  const server = programmed(
    'x',
    `message.method === 'tools/call'
    ? result(message, ${JSON.stringify(results.map(([result]) => result))}[message.params.arguments.which]) : rest(message)`,
  )
  await using servers = await openServers(sandbox, [server])
  for (const [which, [result, expected, failed = false]] of results.entries()) {
    const { output, is_error } = await servers.call('x__go', { which })
    assert.match(output, expected, JSON.stringify(result))
    assert.equal(is_error, failed, JSON.stringify(result))
  }
})

test('names of all kinds are offered once each, and called by the names the server knows', async () => {
  const long = 'n'.repeat(120)
  const names = ['a.b', 'a/b', 'a b', 'a:b', 'ä', `${long}1`, `${long}2`, '1st', 'a.b']
  const tools = names.map((name) => ({ name, inputSchema: { type: 'object' } }))
  const server = programmed(
    'x',
    `rest(message, { 'tools/list': ${JSON.stringify({ tools })},
    'tools/call': { content: [{ type: 'text', text: message.params?.name }] } })`,
  )
  await using servers = await openServers(sandbox, [server])
  const offered = [...servers.tools().keys()]
  assert.equal(new Set(offered).size, 8)
  assert(
    offered.every((name) => /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/.test(name)),
    offered.join(),
  )
  const called: string[] = []
  for (const name of offered) called.push((await servers.call(name)).output)
  assert.deepEqual(called, names.slice(0, 8))
  assert.match(servers.setup()[0] ?? '', /left out: a\.b: the server lists it twice/)
})

test('tools that a server has later are offered from the next turn on', async () => {
  const server = programmed(
    'x',
    `globalThis.more ??= false
    if (message.method === 'tools/call') { globalThis.more = true; say({ method: 'notifications/tools/list_changed' }) }
    rest(message, { 'tools/list': { tools: globalThis.more ? [{ name: 'go' }, { name: 'later' }] : [{ name: 'go' }] } })`,
  )
  await using servers = await openServers(sandbox, [server, programmed('y', 'rest(message)')])
  assert.equal((await servers.call('x__go')).output, 'well')
  assert.deepEqual(await servers.list(), ['x__go', 'x__later', 'y__go'])
  assert.equal((await servers.call('x__later')).output, 'well')
  assert.equal((await servers.call('y__go')).output, 'well')
  assert.deepEqual(servers.setup(), ['1 tools', '1 tools', '2 tools'])
})

test('a server of the version without a handshake is spoken to as that one says', async () => {
  const modern = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' }
  const discover = { ...modern, supportedVersions: ['2026-07-28'], capabilities: { tools: {} } }
  const server = programmed(
    'x',
    `if (message.method === 'initialize') return say({ id: message.id, error: { code: -32601, message: 'no' } })
    if (message.method === 'server/discover') return result(message, ${JSON.stringify(discover)})
    if (message.method === 'tools/list') return result(message, { ...${JSON.stringify(modern)}, tools: [{ name: 'go' }, null] })
    if (message.method === 'tools/call') result(message, ${JSON.stringify(textResult('of 2026'))})`,
  )
  await using servers = await openServers(sandbox, [server])
  assert.equal((await servers.call('x__go')).output, 'of 2026', servers.setup()[0])
})

test('a failed result of a tool that is fine is told as it stands', async () => {
  await using servers = await openServers(sandbox, [
    programmed('x', calling({ ...Object(textResult('bad')), isError: true })),
  ])
  assert.deepEqual(await servers.call('x__go'), { output: 'bad', is_error: true })
})
