import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openTestSandbox } from '../../test/support/sandbox.ts'
import { TestTurn } from '../../test/support/turn.ts'
import type { NewEvent } from '../contract/event.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import { runCommand } from './command.ts'

let sandbox: Sandbox
before(async () => {
  sandbox = await openTestSandbox()
})
after(() => sandbox.destroy())

test('a command that changes its stream with every byte makes few events, each stream in order', async () => {
  const batches: NewEvent[][] = []
  class Counted extends TestTurn {
    override emit(...events: NewEvent[]): Promise<void> {
      batches.push(events)
      return super.emit(...events)
    }
  }
  const turn = new Counted({ sandbox })
  const command = 'for i in $(seq 10000 29999); do printf %s, $i; printf %s, $i >&2; done'
  const end = await runCommand(turn, 'call-1', { command, timeout_ms: 120_000 })
  const output = turn.data('tool.output')
  for (const stream of ['stdout', 'stderr']) {
    const told = output.filter((event) => event.stream === stream).map(({ text }) => text)
    assert.equal(told.join(''), Array.from({ length: 20_000 }, (_, at) => `${at + 10_000},`).join(''))
  }
  assert.equal(end.text, output.map(({ text }) => text).join(''))
  assert.ok(batches.every((events) => events.length <= 32))
})

test('where the middle of an output is dropped, no half character stays', async () => {
  for (const before of ['', '.']) {
    const turn = new TestTurn({ sandbox })
    const command = `printf '${before}'; yes 'é€😀é' | head -n 200000`
    const { text, truncated_bytes } = await runCommand(turn, 'call-1', { command, timeout_ms: 120_000 })
    assert(truncated_bytes > 0 && !text.includes('\ufffd'))
    const output = turn.data('tool.output')
    assert.deepEqual(
      [...new Set(output.filter((event) => event.after_gap).map((event) => event.stream))].sort(),
      ['stderr', 'stdout'],
    )
  }
})
