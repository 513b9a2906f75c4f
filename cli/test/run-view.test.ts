import assert from 'node:assert/strict'
import test from 'node:test'
import type { RunEvent, RunStreamEvent } from '@runyard/client'
import { cleanText } from '../src/clean-text.ts'
import { openOutput } from '../src/output.ts'
import { RunView } from '../src/run-view.ts'

// What is shown is compared as text.
process.env.NO_COLOR = '1'
const AT = '2026-01-01T00:00:00.000Z'

/** Shows the events, as on a terminal with that many columns or as in a pipe; what was written. */
function show(events: RunStreamEvent[], columns?: number, full = false): string {
  let written = ''
  const write = (text: string): void => {
    written += text
  }
  const stdout = { isTTY: columns !== undefined, columns, write }
  const output = openOutput({ format: 'text' }, { stdin: {}, stdout, stderr: { write } })
  const view = new RunView(output, { full })
  for (const each of events) view.show(each)
  view.finish('The end.')
  return written
}

/** What is left on a terminal when the spinner's line was erased each time. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the escape sequence is what is looked for.
const settled = (written: string): string => written.replace(/(\r\u001b\[2K[^\n\r]*)*\r\u001b\[2K/g, '')

let sequence = 0
const event = <T extends RunEvent['type']>(type: T, data: Extract<RunEvent, { type: T }>['data']): RunEvent =>
  ({ sequence: ++sequence, run_id: 'r1', type, occurred_at: AT, data }) as RunEvent
const delta = (offset: number, text: string): RunStreamEvent => ({
  type: 'message.assistant.delta',
  run_id: 'r1',
  data: { message_id: 'm1', offset, text },
})
const call = (tool_call_id: string, command: string, title?: string) =>
  event('tool.call', { tool_call_id, name: 'bash', input: { command }, ...(title ? { title } : {}) })
const printed = (tool_call_id: string, text: string) =>
  event('tool.output', { tool_call_id, stream: 'stdout', text })
const result = (tool_call_id: string, exit_code = 0, output?: string) =>
  event('tool.result', {
    tool_call_id,
    is_error: exit_code !== 0,
    exit_code,
    duration_ms: 1500,
    ...(output ? { output } : {}),
  })

const lines = (count: number): string => Array.from({ length: count }, (_, at) => `line ${at + 1}\n`).join('')

test('a prompt that was left out, beside a skill, leaves no line', () => {
  const text = show([
    event('message.user', { message_id: 'u1', text: '' }),
    event('run.state', { state: 'INPROGRESS', execution: 1, attempt: 1 }),
  ])
  assert.equal(text, '· INPROGRESS\n\nThe end.\n')
})

test('in a pipe every line of the log is there, in order, without escapes', () => {
  const text = show([
    event('message.user', { message_id: 'u1', text: 'Do it.' }),
    event('setup', { phase: 'clone', name: 'app', status: 'started' }),
    event('setup', { phase: 'clone', name: 'app', status: 'finished', duration_ms: 1200 }),
    event('run.state', { state: 'INPROGRESS', execution: 1, attempt: 1 }),
    delta(0, 'I will '),
    event('message.assistant', { message_id: 'm1', text: 'I will \u001b[31mdo\u001b[0m it.' }),
    call('c1', 'npm test', 'Run the tests'),
    printed('c1', 'one\ntw'),
    printed('c1', 'o\n\u001b]0;title\u0007three'),
    result('c1', 1),
  ])
  assert.equal(
    text,
    `› Do it.

✓ clone app  1.2 s
· INPROGRESS

I will do it.

▸ Run the tests  $ npm test
  │ one
  │ two
  │ three
  ✗ exit code 1 · 1.5 s

The end.
`,
  )
})

const setup = (status: 'started' | 'failed', more: object = {}) =>
  event('setup', { phase: 'command', name: 'npm ci', status, ...more })

test('what a setup command prints is there line by line, and the first error where it is folded', () => {
  const printed_by_setup = [
    setup('started'),
    event('setup.output', { stream: 'stderr', text: 'npm error code E4' }),
    event('setup.output', { stream: 'stderr', text: `04\n${lines(20)}` }),
    setup('failed', {
      ...{ exit_code: 1, duration_ms: 1200, first_error: 'npm error code E404' },
      output: lines(20),
    }),
  ]
  assert.equal(
    show(printed_by_setup),
    `▸ $ npm ci\n  │ npm error code E404\n${lines(20).replace(/^(?=l)/gm, '  │ ')}  ✗ exit code 1 · 1.2 s\n\nThe end.\n`,
  )
  assert.match(
    settled(show(printed_by_setup, 80)),
    /✗ \$ npm ci {2}exit code 1 · 1\.2 s\n {2}│ npm error code E404\n {2}│ …\n.*line 20\n/s,
  )
})

test('output of two calls at once stays apart', () => {
  const text = show([
    call('a', 'first'),
    call('b', 'second'),
    printed('a', 'A\n'),
    printed('b', 'B\n'),
    result('a'),
    result('b'),
  ])
  const headers = text.split('\n').filter((line) => line.startsWith('▸'))
  assert.match(text, /▸ \$ first\n {2}│ A\n\n▸ \$ second\n {2}│ B\n/)
  assert.equal(headers.at(-2), '▸ $ first')
  assert.match(text, /▸ \$ first\n {2}✓ 1\.5 s\n\n▸ \$ second\n {2}✓ 1\.5 s\n/)
})

test('on a terminal a call is one line when it ends, with the end of its output', () => {
  const events = [call('c1', 'make'), printed('c1', lines(30)), result('c1')]
  const text = settled(show(events, 80))
  assert.match(
    text,
    /^✓ \$ make {2}1\.5 s\n {2}│ … 20 earlier lines: runyard logs r1 --full\n {2}│ line 21\n/,
  )
  assert.match(text, / {2}│ line 30\n\nThe end\.\n$/)
  assert.match(show(events, 80), /⠙ \$ make/)
  assert.match(settled(show(events, 80, true)), /│ line 1\n/)
})

test('on a terminal text appears while it is written, and once', () => {
  const text = show(
    [
      delta(0, 'Hel'),
      delta(3, 'lo \u001b['),
      delta(8, '31mworld'),
      event('message.assistant', { message_id: 'm1', text: 'Hello \u001b[31mworld!' }),
    ],
    80,
  )
  assert.match(settled(text), /^Hello world!\n\nThe end\.\n$/)
})

test('a carriage return hides nothing of what an agent says', () => {
  // A carriage return that a piece ends with may be half of a line's end.
  const whole = event('message.assistant', { message_id: 'm1', text: 'One.\r\nTwo.\r\n\r\nThree.' })
  for (const [first, second] of [
    ['One.\r', '\nTwo.\r'],
    ['One.\r\nTwo.', '\r'],
    ['One', '.\r'],
  ] as const) {
    const shown = settled(show([delta(0, first), delta(first.length, second), whole], 80))
    assert.match(shown, /One\.\nTwo\.\n\nThree\.\n/)
  }
  const said = event('message.assistant', { message_id: 'm1', text: 'It deletes all.\rIt is harmless.' })
  for (const written of [show([said]), settled(show([delta(0, 'It deletes all.\rIt '), said], 80))])
    assert.match(written, /It deletes all\.\n\s*It is harmless\./)
})

test('no line of the spinner is wider than the terminal', () => {
  const text = show(
    [call('c1', `echo ${'x'.repeat(300)}`), printed('c1', `${'漢'.repeat(300)}\n`), result('c1')],
    60,
  )
  for (const line of text.split(/[\r\n]+/)) {
    assert.ok([...cleanText(line)].reduce((width, each) => width + (each > '⺀' ? 2 : 1), 0) <= 60, line)
  }
})

test('what a tool said is shown where it printed nothing, and a short reason beside the title', () => {
  const read = event('tool.call', { tool_call_id: 'c1', name: 'read_file', input: { path: 'src/app.ts' } })
  const text = show([
    read,
    event('tool.result', { tool_call_id: 'c1', is_error: false, output: 'first\nsecond', duration_ms: 5 }),
  ])
  assert.equal(text, '▸ read_file src/app.ts\n  │ first\n  │ second\n  ✓ 5 ms\n\nThe end.\n')
  const failed = show([
    read,
    event('tool.result', { tool_call_id: 'c1', is_error: true, output: 'no such file', duration_ms: 5 }),
  ])
  assert.match(failed, / {2}✗ no such file · 5 ms\n/)
  const reason = 'interrupted: the turn was stopped and the command was killed'
  const killed = show([call('c2', 'sleep 60'), printed('c2', 'one\n'), result('c2', 1, reason)])
  assert.match(killed, new RegExp(` {2}│ one\\n {2}│ ${reason}\\n {2}✗ exit code 1`))
})

test('a lost attempt begins anew', () => {
  const text = settled(
    show(
      [
        delta(0, 'Half'),
        event('attempt.lost', { attempt: 1, reason: 'the worker stopped answering' }),
        delta(0, 'Whole'),
        event('message.assistant', { message_id: 'm1', text: 'Whole' }),
      ],
      80,
    ),
  )
  assert.equal(text, 'Half\n\n! Attempt 1 was lost: the worker stopped answering\n\nWhole\n\nThe end.\n')
})

test('a debug turn is shown with its outcome', () => {
  const begun = { attempt: 2, execution: 1, worker_id: 'w', pool: 'default', debug: true } as const
  const ended = event('debug.ended', {
    ...{ attempt: 2, outcome: 'ERROR', undelivered: 2 },
    status_message: { message: 'The worker is stopping.' },
  })
  const text = show([event('attempt.started', begun), ended])
  assert.match(text, /^· A debug turn works in the failed setup's sandbox\n/)
  assert.match(text, /! The debug turn ended \(ERROR\): The worker is stopping\. 2 of the messages wait/)
})

test('kinds of events that a newer server may send are passed over', () => {
  const unknown = { sequence: 1, run_id: 'r1', type: 'something.new', occurred_at: AT, data: {} }
  assert.equal(show([JSON.parse(JSON.stringify(unknown))]), 'The end.\n')
})

test('a line without an end that comes in many pieces is shown whole', () => {
  const pieces = Array.from({ length: 50_000 }, () => printed('c1', 'x'.repeat(20)))
  const text = show([call('c1', 'yes'), ...pieces, result('c1')])
  assert.match(text, /x{1000000}/)
})

test('another model that goes on is one line, with why', () => {
  const switched = { from: 'openai/a', to: 'groq/b', reason: 'quota', message: 'No credit\nleft.' } as const
  assert.match(
    show([event('model.switched', switched)]),
    /^⇄ Switched from openai\/a to groq\/b {2}No credit left\.\n/,
  )
  const { message: _, ...asked } = switched
  assert.match(
    show([event('model.switched', { ...asked, reason: 'followup' })]),
    /^⇄ Switched from openai\/a to groq\/b\n/,
  )
})

test('a summary of the conversation is one line', () => {
  const text = show([
    event('context.compacted', {
      ...{ summary: 'Long.\nVery long.', reason: 'nearly_full', context_window: 200_000 },
      ...{ tokens_before: 161_234, tokens_after: 20_100, kept_messages: ['u1'] },
    }),
  ])
  assert.match(text, /^≈ The conversation was summarised {2}161,234 → 20,100 tokens\n/)
  assert.doesNotMatch(text, /Very long/)
})

test('what an agent keeps and names is one line each, without what a terminal acts on', () => {
  const file = {
    ...{ filename: 'r.txt', filepath: 'sub/r.txt', mime_type: 'text/plain', size_bytes: 9 },
    ...{ artifact_uid: 'a1', artifact_type: 'FILE' },
  }
  const shown = show([
    event('artifact.created', { ...file, artifact_type: 'PLAN', title: '1 of 2 done' }),
    event('artifact.created', { ...file, title: 'The\u001b[31m report\nof today' }),
    event('reference.reported', {
      ...{ artifact_uid: 'a2', reference_type: 'PULL_REQUEST', url: 'https://example.com/1' },
      title: 'No\u0007 1',
    }),
  ])
  assert.equal(
    cleanText(shown),
    '+ The report of today (sub/r.txt)  9 B a1\n→ pull request: No 1  https://example.com/1\n\nThe end.\n',
  )
})

test('what a command printed is not said again when it failed', () => {
  const lines = show([
    event('tool.call', { tool_call_id: 'c1', name: 'bash', input: { command: 'ls x' } }),
    event('tool.output', { tool_call_id: 'c1', stream: 'stderr', text: 'no x\n' }),
    event('tool.result', {
      tool_call_id: 'c1',
      is_error: true,
      exit_code: 2,
      output: 'no x\n[12 bytes left out, and a long reason for it]\n[exit code 2]',
    }),
  ])
  assert.equal(lines.split('no x').length, 2)
  assert.match(lines, /│ \[12 bytes left out, and a long reason for it\]\n.*✗ exit code 2/)
})

test('a provider that fails again in the same way is told once, and counted', () => {
  const failed = (message: string, retry: number) =>
    event('retrying', { error_code: 'resource_unavailable', message, retry, delay_ms: 1_000 })
  const events = [
    failed('Busy.', 1),
    failed('Busy.', 2),
    failed('Busy.', 3),
    failed('Away.', 4),
    call('c1', 'ls'),
  ]
  const piped = show(events)
  assert.deepEqual(piped.match(/↻.*/g), [
    '↻ Busy. trying again in 1 s (1)',
    '↻ The same 2 more times',
    '↻ Away. trying again in 1 s (4)',
  ])
  const written = show(events, 60)
  assert.match(written, /The same again, trying again in 1 s \(3\)/)
  assert.deepEqual(settled(written).match(/↻.*/g), piped.match(/↻.*/g))
})

const edit = event('tool.call', {
  tool_call_id: 'e1',
  name: 'edit',
  title: 'edit a.js',
  input: { path: 'a.js', old_text: 'a\nb\n', new_text: 'a\nc\n' },
})
const edited = event('tool.result', {
  tool_call_id: 'e1',
  is_error: false,
  duration_ms: 10,
  output: 'Changed a.js at line 1.',
})
const planned = (tool_call_id: string, status: string): RunEvent[] => [
  event('tool.call', { tool_call_id, name: 'plan', input: { steps: [{ step: 'Try it', status }] } }),
  event('tool.result', { tool_call_id, is_error: false, duration_ms: 10, output: 'The plan is kept.' }),
]

test('an edit is a diff, and one that failed says why', () => {
  assert.equal(show([edit, edited]), '▸ edit a.js\n  │ - b\n  │ + c\n  ✓ 10 ms\n\nThe end.\n')
  assert.equal(settled(show([edit, edited], 60)), '✓ edit a.js  10 ms\n  │ - b\n  │ + c\n\nThe end.\n')
  const failed = { ...edited, data: { ...edited.data, is_error: true, output: 'old_text is missing' } }
  assert.match(show([edit, failed as RunEvent]), /^▸ edit a\.js\n {2}✗ old_text is missing · 10 ms\n/)
})

test('a plan stands in one place of a terminal, and once in what is left; in a pipe each time', () => {
  const events = [...planned('p1', 'in_progress'), call('c1', 'make'), result('c1'), ...planned('p2', 'done')]
  const text = show(events, 60)
  assert.match(text, /Plan: 0 of 1 done\n▸ Try it\n/)
  // Above the line of what goes on, and taken back with it.
  assert(text.includes('\u001b[2A\r\u001b[J'), JSON.stringify(text))
  assert.match(text, /☑ Try it\n\nThe end\.\n$/)
  assert.equal(
    show(events)
      .match(/[▸☑] Try it/g)
      ?.join(),
    '▸ Try it,☑ Try it',
  )
})

test('what an agent says is rendered on a terminal, and as it came in a pipe', () => {
  const said = event('message.assistant', {
    message_id: 'm1',
    text: '# Done\n\nThe **sum** is right now, and all the tests of it pass again.',
  })
  assert.equal(
    settled(show([said], 30)),
    'Done\n\nThe sum is right now, and all\nthe tests of it pass again.\n\nThe end.\n',
  )
  assert.match(show([said]), /^# Done\n\nThe \*\*sum\*\*/)
  const streamed = settled(show([delta(0, '# Do'), delta(4, 'ne\n\nThe **su'), said], 30))
  assert.equal(streamed, settled(show([said], 30)))
})
