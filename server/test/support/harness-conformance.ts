import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { NewEvent, RunEvent } from '../../src/contract/event.ts'
import type { Harness } from '../../src/harness/harness.ts'
import type { Sandbox } from '../../src/sandbox/sandbox.ts'
import { openTestSandbox } from './sandbox.ts'
import { LeaseLost, TestTurn } from './turn.ts'

export interface OpenHarness {
  harness: Harness
  /** A message upon which the harness runs these commands in order, one tool call each, and is then done. */
  ask(commands: string[]): string
  /** A message upon which it says or prints something over and over, until it is stopped. */
  talks: string
  /** A message upon which its turn fails. */
  fails: string
  close(): Promise<void>
}

const DEADLINE_MS = 10_000

/** What the worker relies on in every harness. */
export function testHarness(name: string, open: () => Promise<OpenHarness>): void {
  describe(`harness ${name}`, () => {
    let opened: OpenHarness
    let sandbox: Sandbox
    const turns: TestTurn[] = []
    before(async () => {
      sandbox = await openTestSandbox()
      opened = await open()
    })
    after(async () => {
      await sandbox.destroy()
      await opened.close()
    })
    const start = (commands: string[]) => track(new TestTurn({ sandbox, prompt: opened.ask(commands) }))
    const resume = (history: readonly RunEvent[]) => track(new TestTurn({ sandbox, history }))
    const track = (turn: TestTurn) => {
      turns.push(turn)
      return turn
    }
    const run = (turn: TestTurn) => beforeDeadline(turn.runHarness(opened.harness))
    const exists = async (file: string) => (await sandbox.stat(`/workspace/${file}`)) !== null

    test('runs what it is asked, in order, and says so in a well-formed log', async () => {
      const turn = start(['echo 1', 'echo 2', 'echo 3'])
      assert.equal((await run(turn)).state, 'SUCCEEDED')
      assert.deepEqual(settledCommands(turn.log), ['echo 1', 'echo 2', 'echo 3'])
      assertWellFormed(turn.log)
    })

    test('stops in mid-command when told to, and closes the open call', async () => {
      const turn = start(['echo begun; sleep 600', 'touch after-stop'])
      turn.onEvent = (event) => event.type === 'tool.output' && turn.stop()
      await run(turn)
      assertWellFormed(turn.log)
      assert.deepEqual(openCallsOf(turn.log), [])
      assert.equal(turn.data('tool.result')[0]?.is_error, true)
      assert.equal(await exists('after-stop'), false)
    })

    test('does nothing when told to stop before it starts', async () => {
      const turn = start(['touch never-started'])
      turn.stop()
      await run(turn)
      assert.equal(await exists('never-started'), false)
      assert.deepEqual(turn.data('tool.call'), [])
    })

    test('what was stopped is not done again after an interruption; the next message is', async () => {
      const turn = start(['echo begun; sleep 600'])
      turn.onEvent = (event) => event.type === 'tool.output' && turn.stop()
      await run(turn)
      const next = resume([...turn.log, interruption(turn.log.length + 1)])
      next.followUp(opened.ask(['echo instead']))
      assert.equal((await run(next)).state, 'SUCCEEDED')
      assert.deepEqual(settledCommands(next.log), ['echo instead'])
      assertWellFormed(next.log)
    })

    test('stops in the middle of what it says, keeps that, and goes on with the next message', async () => {
      const turn = track(new TestTurn({ sandbox, prompt: opened.talks }))
      turn.onEvent = (event) => event.type === 'tool.output' && turn.stop()
      turn.onDelta = () => turn.stop()
      await run(turn)
      assertWellFormed(turn.log)
      assert.deepEqual(openCallsOf(turn.log), [])
      const shown = turn.deltas.map(({ text }) => text).join('')
      const kept = turn.data('message.assistant').map(({ text }) => text)
      assert.ok(shown === '' || kept.some((text) => text.startsWith(shown)), `${shown} is not in ${kept}`)
      const next = resume([...turn.log, interruption(turn.log.length + 1)])
      next.followUp(opened.ask(['echo instead']))
      assert.equal((await run(next)).state, 'SUCCEEDED')
      assert.deepEqual(settledCommands(next.log.slice(turn.log.length)), ['echo instead'])
    })

    test('says why it failed, in words, and goes on with the next message', async () => {
      const turn = track(new TestTurn({ sandbox, prompt: opened.fails }))
      const { state, status_message } = await run(turn)
      assert.ok(state === 'FAILED' || state === 'ERROR', state)
      assert.match(status_message?.message ?? '', /\w{3,} \w+/)
      assertWellFormed(turn.log)
      assert.deepEqual(openCallsOf(turn.log), [])
      const next = resume([...turn.log, ended(turn.log.length + 1, state)])
      next.followUp(opened.ask(['echo after']))
      assert.equal((await run(next)).state, 'SUCCEEDED')
      assert.deepEqual(settledCommands(next.log.slice(turn.log.length)), ['echo after'])
    })

    test('takes follow-ups once, in order, behind what it is doing', async () => {
      const turn = start(['echo 1', 'echo 2'])
      turn.onEvent = (event) => {
        if (event.type === 'tool.call' && event.data.input.command === 'echo 1') {
          turn.followUp(opened.ask(['echo 3']))
          turn.followUp(opened.ask(['echo 4']))
        }
        // One that comes when the last command has ended is not left behind either.
        if (event.type === 'tool.call' && event.data.input.command === 'echo 4')
          turn.followUp(opened.ask(['echo 5']))
      }
      assert.equal((await run(turn)).state, 'SUCCEEDED')
      assert.deepEqual(settledCommands(turn.log), ['echo 1', 'echo 2', 'echo 3', 'echo 4', 'echo 5'])
      assert.equal(turn.data('message.user').length, 4)
      assertWellFormed(turn.log)
    })

    test('takes turn after turn in one session, and does in each only what came since', async () => {
      const turn = start(['echo 1'])
      const more = [['echo 2', 'echo 3'], ['echo 4']].map((commands) => opened.ask(commands))
      const outcomes = await beforeDeadline(turn.runSession(opened.harness, more))
      assert.deepEqual(
        outcomes.map(({ state }) => state),
        ['SUCCEEDED', 'SUCCEEDED', 'SUCCEEDED'],
      )
      assert.deepEqual(settledCommands(turn.log), ['echo 1', 'echo 2', 'echo 3', 'echo 4'])
      assertWellFormed(turn.log)
    })

    test('goes on from every point of a log, and from every point after that, doing each command once', async () => {
      const first = start(['echo 1', 'echo 2'])
      first.onEvent = (event) => {
        if (event.type === 'tool.result' && !first.log.some((other) => other.type === 'followup.delivered')) {
          first.followUp(opened.ask(['echo 3']))
          first.onEvent = () => {}
        }
      }
      await run(first)
      const resumeEverywhere = async (log: readonly RunEvent[]) => {
        for (let length = 1; length <= log.length; length += 1) {
          const turn = resume(log.slice(0, length))
          const outcome = await run(turn)
          const asked =
            turn.data('message.user').length === 1 ? ['echo 1', 'echo 2'] : ['echo 1', 'echo 2', 'echo 3']
          assert.equal(outcome.state, 'SUCCEEDED', `after ${length} events`)
          assert.deepEqual(settledCommands(turn.log), asked, `after ${length} events`)
          assertWellFormed(turn.log)
          assert.deepEqual(openCallsOf(turn.log), [], `after ${length} events`)
        }
      }
      await resumeEverywhere(first.log)
      const lost = first.log.findIndex((event) => event.type === 'tool.call')
      const second = resume(first.log.slice(0, lost + 1))
      await run(second)
      await resumeEverywhere(second.log)
    })

    for (const type of ['tool.call', 'tool.output', 'tool.result'] as const) {
      test(`a lease lost at ${type} ends the turn with that error, and nothing is started any more`, async () => {
        const turn = start([`touch first-at-${type}; echo begun; sleep 0.3`, `touch second-at-${type}`])
        turn.refuses = (event: NewEvent) => event.type === type
        await assert.rejects(run(turn), LeaseLost)
        assert.equal(await exists(`first-at-${type}`), type !== 'tool.call')
        assert.equal(await exists(`second-at-${type}`), false)
      })
    }

    test('nothing was emitted after the end of any of these turns', () => {
      assert.deepEqual(
        turns.flatMap((turn) => turn.late),
        [],
      )
    })
  })
}

/** The commands that ran to a known end, in order. */
function settledCommands(log: readonly RunEvent[]): unknown[] {
  const commands = new Map<string, unknown>()
  return log.flatMap((event) => {
    if (event.type === 'tool.call') commands.set(event.data.tool_call_id, event.data.input.command)
    if (event.type !== 'tool.result' || event.data.output?.startsWith('interrupted: ')) return []
    return [commands.get(event.data.tool_call_id)]
  })
}

function openCallsOf(log: readonly RunEvent[]): string[] {
  const closed = new Set(
    log.flatMap((event) => (event.type === 'tool.result' ? [event.data.tool_call_id] : [])),
  )
  return log.flatMap((event) =>
    event.type === 'tool.call' && !closed.has(event.data.tool_call_id) ? [event.data.tool_call_id] : [],
  )
}

/** Each call has its own id and at most one result; output comes between the two. */
function assertWellFormed(log: readonly RunEvent[]): void {
  const open = new Set<string>()
  const known = new Set<string>()
  for (const { type, data } of log) {
    if (type === 'tool.call') {
      assert.ok(!known.has(data.tool_call_id), `${data.tool_call_id} is called twice`)
      known.add(data.tool_call_id)
      open.add(data.tool_call_id)
    } else if (type === 'tool.output') {
      assert.ok(open.has(data.tool_call_id), `output of ${data.tool_call_id}, which is not open`)
    } else if (type === 'tool.result') {
      assert.ok(open.delete(data.tool_call_id), `a result for ${data.tool_call_id}, which is not open`)
    }
  }
}

const interruption = (sequence: number): RunEvent => ({
  sequence,
  run_id: 'run-1',
  occurred_at: '2026-01-01T00:00:00.000Z',
  type: 'interrupted',
  data: { attempt: 1 },
})

const ended = (sequence: number, state: 'FAILED' | 'ERROR'): RunEvent => ({
  ...{ sequence, run_id: 'run-1', occurred_at: '2026-01-01T00:00:00.000Z' },
  ...{ type: 'run.state', data: { state, execution: 1, attempt: 1 } },
})

async function beforeDeadline<T>(work: Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`no end within ${DEADLINE_MS} ms`)), DEADLINE_MS)
  return Promise.race([work, promise]).finally(() => clearTimeout(timer))
}
