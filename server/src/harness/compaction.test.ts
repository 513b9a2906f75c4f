/** What becomes of a conversation that is too long for its model. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { bash, OPTIONS, play, sandbox, useSandbox } from '../../test/support/loop-scene.ts'
import {
  type ChatRequest,
  openModelServer,
  type Reply,
  type Script,
} from '../../test/support/model-server.ts'
import { isSummary, printing, SUMMARY, strict, textOf, WINDOW } from '../../test/support/strict-model.ts'
import { TestTurn } from '../../test/support/turn.ts'
import type { NewEvent, RunEvent } from '../contract/event.ts'
import { closeContext } from '../log/context.ts'
import { createLoop } from './loop.ts'
import { openModels } from './models.ts'

useSandbox()

const PROMPT = 'Print the numbers, every one of them.'

/** Providers refuse anything but a call that is directly followed by its results. */
function assertWhole({ messages }: ChatRequest): void {
  for (const [at, { tool_calls = [], role, tool_call_id }] of messages.entries()) {
    for (const [place, call] of tool_calls.entries())
      assert.equal(messages[at + 1 + place]?.tool_call_id, call.id)
    if (role === 'tool') {
      const before = messages.slice(0, at).findLast((message) => message.role === 'assistant')
      assert(before?.tool_calls?.some(({ id }) => id === tool_call_id))
    }
  }
}

test('near the end of the window the model goes on from its own summary', async () => {
  const { turn, outcome, requests } = await play({
    script: strict(printing(12, 1_000)),
    ...{ prompt: PROMPT, context_window: WINDOW, max_steps: 20 },
  })
  assert.deepEqual(outcome, { state: 'SUCCEEDED' })
  const compacted = turn.data('context.compacted')
  assert(compacted.length > 0)
  for (const { summary, reason, tokens_before, tokens_after } of compacted) {
    assert.deepEqual([summary, reason], [SUMMARY, 'nearly_full'])
    assert(tokens_before >= 0.8 * WINDOW && tokens_after < 0.7 * WINDOW, `${tokens_before} ${tokens_after}`)
  }
  const summaries = requests.filter(isSummary)
  assert.equal(summaries.length, compacted.length)
  assert.match(textOf(summaries[0]), /Print the numbers.*start-0.*end-0/s)
  assert.equal(requests.length, 13 + compacted.length, 'nothing was refused')
  for (const request of requests) assertWhole(request)
  const after = requests[requests.indexOf(summaries[0] as ChatRequest) + 1]
  const [, first, second] = after?.messages ?? []
  assert.match(String(first?.content), new RegExp(`^${PROMPT}\\n\\n\\[From the service.*${SUMMARY}$`, 's'))
  assert.equal(second?.role, 'assistant', 'the last steps stay as they were')
  assert.doesNotMatch(textOf(after), /start-0/)
  assert.equal(turn.data('tool.result').length, 12)
  assert.match(turn.data('tool.result')[0]?.output ?? '', /start-0/, 'the log keeps everything')
  assert.equal(
    turn.deltas.some(({ text }) => SUMMARY.includes(text)),
    false,
  )
  const usages = turn.data('usage')
  assert.deepEqual(
    [usages.length, usages.filter(({ by_compaction }) => by_compaction).length],
    [requests.length, compacted.length],
  )
})

test('what the provider calls too long is summarised, when nobody knows the window', async () => {
  const { turn, outcome, requests } = await play({
    script: strict(printing(12, 1_000)),
    ...{ prompt: PROMPT, max_steps: 20 },
  })
  assert.deepEqual(outcome, { state: 'SUCCEEDED' })
  assert.equal(turn.data('context.compacted')[0]?.reason, 'overflow')
  assert.equal(requests.filter((request) => !isSummary(request)).length > 13, true)
  for (const request of requests) assertWhole(request)
})

test('another worker goes on from the log with the very same conversation', async () => {
  const first = await play({
    script: strict(printing(8, 1_000)),
    ...{ prompt: PROMPT, context_window: WINDOW },
  })
  const { log } = first.turn
  const cut = log.findIndex(({ type }) => type === 'context.compacted')
  const at = first.requests.findIndex(isSummary)
  for (const [history, expected] of [
    [log.slice(0, cut + 1), first.requests[at + 1]],
    // Only the usage was stored: the summary is asked for again.
    [log.slice(0, cut), first.requests[at]],
  ] as const) {
    const { turn, outcome, requests } = await goOn(history, () => ({ text: 'Done.' }))
    assert.deepEqual(outcome, { state: 'SUCCEEDED' })
    assert(isDeepStrictEqual(requests[0]?.messages, expected?.messages))
    assert.equal(turn.data('message.assistant').at(-1)?.text, 'Done.')
  }
})

/** The next worker, with nothing but the log. */
async function goOn(history: readonly RunEvent[], script: Script) {
  await using server = await openModelServer(script)
  const models = openModels({
    openai: { base_url: server.url },
    default_model: 'openai/scripted',
    context_windows: { '*': WINDOW },
  })
  const turn = new TestTurn({ sandbox, history })
  const outcome = await turn.runHarness(createLoop(models, OPTIONS))
  return { turn, outcome, requests: server.requests.map(({ body }) => body) }
}

test('a summary that fails for a passing reason is asked for again', async () => {
  let asked = 0
  const failures: Reply[] = [{ error: { status: 503 } }, { text: 'torn', fault: 'eof' }, {}]
  const { turn, outcome } = await play({
    script: strict(printing(8, 1_000), { summarise: () => failures[asked++] ?? { text: SUMMARY } }),
    ...{ prompt: PROMPT, context_window: WINDOW },
  })
  assert.deepEqual(outcome, { state: 'SUCCEEDED' })
  assert.equal(turn.data('retrying').length, 3)
  assert.equal(turn.data('context.compacted')[0]?.summary, SUMMARY)
  const empty = await play({
    script: strict(printing(8, 1_000), { summarise: () => ({ calls: [bash('echo never')] }) }),
    ...{ prompt: PROMPT, context_window: WINDOW },
  })
  assert.deepEqual(
    [empty.outcome.state, empty.outcome.status_message?.error_code],
    ['ERROR', 'resource_unavailable'],
  )
  assert.doesNotMatch(JSON.stringify(empty.turn.data('tool.call')), /never/)
  const refused = await play({
    script: strict(printing(8, 1_000), { summarise: () => ({ error: { status: 401 } }) }),
    ...{ prompt: PROMPT, context_window: WINDOW },
  })
  assert.equal(refused.outcome.status_message?.error_code, 'external_authentication_required')
})

test('a prompt that is too long by itself ends the turn at once', async () => {
  for (const context_window of [WINDOW, 128_000]) {
    const { turn, outcome, requests } = await play({
      script: strict(printing(1, 1)),
      ...{ prompt: 'long '.repeat(WINDOW), context_window },
    })
    assert.deepEqual(
      [outcome.state, outcome.status_message?.error_code, requests.length],
      ['FAILED', 'invalid_request', 1],
    )
    assert.match(outcome.status_message?.message ?? '', /longer than the model's context window/)
    assert.deepEqual(turn.data('context.compacted'), [])
  }
})

test('a result that is larger than the window is summarised, and not told again', async () => {
  for (const context_window of [6_000, 128_000]) {
    const { turn, outcome, requests } = await play({
      script: strict(printing(1, 7_000), { window: 6_000 }),
      ...{ prompt: PROMPT, context_window },
    })
    assert.deepEqual(outcome, { state: 'SUCCEEDED' })
    const compacted = turn.data('context.compacted')
    assert.equal(compacted.at(-1)?.kept_from, undefined)
    assert.match(textOf(requests.find(isSummary)), /start-0.*characters left out.*end-0/s)
  }
})

test('an agent that fills the window with every step comes to an end', async () => {
  for (const context_window of [6_000, 128_000]) {
    const { turn, outcome, requests } = await play({
      script: strict(printing(1_000, 7_000), { window: 6_000 }),
      ...{ prompt: PROMPT, context_window, max_steps: 100 },
    })
    assert.equal(outcome.status_message?.error_code, 'invalid_request')
    assert.match(outcome.status_message?.message ?? '', /A summary of it did not make enough room/)
    assert(turn.data('context.compacted').length <= 10 && requests.length <= 30, String(requests.length))
  }
})

test('a summary is asked for with less where the record is too long for it as well', async () => {
  let lengths: number[] = []
  const refusing = (most: number) => (request: ChatRequest, index: number) => {
    if (!isSummary(request)) return script(request, index)
    const { length } = textOf(request)
    lengths.push(length)
    return length > most
      ? { error: { status: 400, body: { error: { message: 'prompt is too long' } } } }
      : { text: SUMMARY }
  }
  let script = strict(printing(8, 1_000)) as (request: ChatRequest, index: number) => Reply
  const scene = { prompt: PROMPT, context_window: WINDOW }
  const smaller = await play({ script: refusing(8_000), ...scene })
  assert.deepEqual(smaller.outcome, { state: 'SUCCEEDED' })
  assert(lengths.length > 1 && lengths.every((length, at) => at === 0 || length < (lengths[at - 1] ?? 0)))
  lengths = []
  script = strict(printing(8, 1_000))
  const none = await play({ script: refusing(0), ...scene })
  assert.equal(none.outcome.status_message?.error_code, 'invalid_request')
  assert.match(none.outcome.status_message?.message ?? '', /Not even a summary of it could be made/)
  assert.equal(lengths.length, 5)
})

test('messages of the user stay whole, and a later summary is made of the one before', async () => {
  const asked = 'And then, please, the letters a to f: \'"{}'
  const { turn, outcome, requests } = await play({
    script: strict(printing(20, 1_000)),
    ...{ prompt: PROMPT, context_window: WINDOW, max_steps: 40 },
    prepare: (turn) => {
      turn.onEvent = ({ type, sequence }) => {
        if (type === 'tool.result' && sequence < 8) turn.followUp(asked)
      }
    },
  })
  assert.deepEqual(outcome, { state: 'SUCCEEDED' })
  const compacted = turn.data('context.compacted')
  assert(compacted.length >= 2)
  const [prompt, followup] = turn.data('message.user').map(({ message_id }) => message_id)
  assert.deepEqual(compacted[1]?.kept_messages, [prompt, followup])
  const last = String(requests.at(-1)?.messages[1]?.content)
  assert(last.startsWith(`${PROMPT}\n\n${asked}\n\n[From the service`), last)
  assert.equal(last.split(SUMMARY).length, 2)
  assert(textOf(requests.filter(isSummary)[1]).includes(SUMMARY))
})

test('what other runs of the conversation said is summarised too', async () => {
  const before = await play({
    script: strict(printing(6, 1_200, 'old'), { window: 128_000 }),
    ...{ prompt: 'An earlier task.', context_window: 128_000 },
  })
  const context: NewEvent[] = closeContext(
    before.turn.log.map((event): RunEvent => ({ ...event, run_id: 'run-0' })),
  ).map((event) => JSON.parse(JSON.stringify(event).replaceAll('"m1"', '"m0"')))
  const { turn, outcome, requests } = await play({
    script: strict(printing(3, 1_000)),
    ...{ prompt: PROMPT, context, context_window: WINDOW },
  })
  assert.deepEqual(outcome, { state: 'SUCCEEDED' })
  const last = textOf(requests.at(-1))
  assert(last.includes(SUMMARY) && last.includes(PROMPT) && !last.includes('start-old0'))
  assert.match(textOf(requests.find(isSummary)), /An earlier task.*start-old0/s)

  // The next run of the conversation begins where that one was.
  const next = await play({
    script: [{ text: 'ok' }],
    ...{ prompt: 'Now this.', context: closeContext([...context, ...turn.log]) },
  })
  const told = textOf(next.requests[0])
  assert(told.includes(SUMMARY) && told.includes('Now this.') && !told.includes('start-old0'))
})

test('a lost worker leaves the wait for a summary to the next', async () => {
  let asked = 0
  const first = await play({
    script: strict(printing(8, 1_000), {
      summarise: () => (asked++ === 0 ? { error: { status: 503 } } : { text: SUMMARY }),
    }),
    ...{ prompt: PROMPT, context_window: WINDOW },
  })
  const history = first.turn.log.slice(0, first.turn.log.findIndex(({ type }) => type === 'retrying') + 1)
  const { turn, outcome } = await goOn(
    history,
    strict(() => ({ text: 'Done.' })),
  )
  assert.deepEqual(outcome, { state: 'SUCCEEDED' })
  assert.equal(turn.data('context.compacted').length, 1)
})
