import assert from 'node:assert/strict'
import { test } from 'node:test'
import { play, useSandbox } from '../../test/support/loop-scene.ts'

useSandbox()

const call = (args: Record<string, unknown> | string, name = 'bash') => ({
  calls: [{ name, arguments: args }],
})

test('a call runs as it is meant, and is stored so', async () => {
  const { turn, requests } = await play({
    script: [
      call({ command: 'echo nullopt', timeout_seconds: null, background: null, cwd: null }),
      call({ command: 'echo b', background: 'false', timeout_seconds: '30' }),
      call('{"command":"echo tc",}'),
      call("{'command': 'echo python', 'background': False}"),
      call('{"path":"made","content":"one\ntwo\n"}', 'write'),
      call({ path: 'made', edits: '[{"old_text":"two","new_text":"2"}]' }, 'edit'),
      call('{"command":"cat made"}'),
      { text: 'done' },
    ],
  })
  const results = turn.data('tool.result').map(({ output }) => output)
  assert.deepEqual(results.slice(0, 4), ['nullopt', 'b', 'tc', 'python'])
  assert.equal(results.at(-1), 'one\n2')
  assert.deepEqual(turn.data('tool.call')[2]?.input, { command: 'echo tc' })
  assert.equal(turn.data('tool.call')[2]?.title, 'echo tc')
  // The provider gets its own call back as JSON.
  const calls = requests.at(-1)?.messages.flatMap(({ tool_calls = [] }) => tool_calls) ?? []
  assert.deepEqual(JSON.parse(calls[2]?.function.arguments ?? ''), { command: 'echo tc' })
})

test('what is no JSON is told with its place, and does nothing', async () => {
  const { turn } = await play({
    script: [
      call('{"path":"never","content":"abc', 'write'),
      call('{"pattern":"foo\\d+"}', 'grep'),
      call('{"command":"touch never"}{"command":"touch never"}'),
      call({ command: 'ls never' }),
      { text: 'done' },
    ],
  })
  const [cut, backslash, two, listed] = turn.data('tool.result')
  assert.match(
    cut?.output ?? '',
    /arguments of write are not valid JSON: the text ends, cut perhaps, .*column 27/,
  )
  assert.match(backslash?.output ?? '', /arguments of grep .* column 16/)
  assert.match(two?.output ?? '', /more text follows \(line 1, column 26/)
  assert.match(listed?.output ?? '', /No such file/)
})

test('rules of permissions see the call as it is made', async () => {
  const deny = { tool: 'bash', pattern: 'rm *', action: 'deny' as const }
  const { turn } = await play({
    script: [call("{'command': 'rm -rf kept',}"), { text: 'done' }],
    prepare: (turn) => Object.assign(turn, { permissions: [[deny]] }),
  })
  assert.match(turn.data('tool.result')[0]?.output ?? '', /permissions of this run deny/)
})

test('to ask for the output of a command that runs is no going round in circles', async () => {
  const poll = { name: 'bash_output', arguments: { id: 'bg1' } }
  const start = {
    name: 'bash',
    arguments: { command: 'until [ -e go ]; do sleep 0.05; done', background: true },
  }
  const { turn, outcome } = await play({
    script: [
      { calls: [start, ...Array.from({ length: 12 }, () => poll)] },
      { calls: [{ name: 'bash', arguments: { command: 'touch go' } }] },
      { calls: [{ name: 'bash_output', arguments: { id: 'bg1', wait_seconds: 60 } }] },
      // What has ended says nothing new.
      { calls: Array.from({ length: 4 }, () => poll) },
      { text: 'done' },
    ],
  })
  assert.equal(outcome.state, 'SUCCEEDED')
  const told = turn.data('tool.result').map(({ output = '' }) => /very call/.test(output))
  assert.deepEqual(told, [...Array(17).fill(false), true, true].slice(0, told.length))
})
