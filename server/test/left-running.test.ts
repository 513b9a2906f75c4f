/** What a command leaves running with `&` is told, whatever the sandbox makes of it. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { BackgroundCommands } from '../src/harness/background-commands.ts'
import { bash } from '../src/harness/tools/bash.ts'
import { openBubblewrap } from '../src/sandbox/bubblewrap.ts'
import { DEFAULT_LIMITS, type Sandbox } from '../src/sandbox/sandbox.ts'
import { whyNoBubblewrap } from './support/machine.ts'
import { openTestSandbox } from './support/sandbox.ts'
import { temporaryDirectory } from './support/service.ts'
import { TestTurn } from './support/turn.ts'

const background = new BackgroundCommands()
const use = async (sandbox: Sandbox, command: string, more: Record<string, unknown> = {}) =>
  bash.run({ command, ...more }, { turn: new TestTurn({ sandbox }), tool_call_id: 'call-1', background })

describe('where processes outlive their command', () => {
  let sandbox: Sandbox
  before(async () => {
    sandbox = await openTestSandbox()
  })
  after(() => sandbox.destroy())

  test('it still runs, unless it holds the call open', async () => {
    const { output, exit_code } = await use(sandbox, 'sleep 600 > /dev/null 2>&1 &\necho started; false')
    assert.match(
      output,
      /^started\n\[still running: sleep 600 > \/dev\/null 2>&1 \(process \d+\)\. Nobody reads .* set background\.\]/,
    )
    assert.equal(exit_code, 1)
    const held = await use(sandbox, 'sleep 601 & echo started', { timeout_seconds: 1 })
    assert.match(
      held.output,
      /^started\n\[the command itself was done, but .* killed: sleep 601 \(process \d+\)\..*\]\n\[killed after 1 seconds/,
    )
  })

  test('nothing is said where nothing is left', async () => {
    for (const [command, output] of [
      ['sleep 0.01 & wait; echo done', 'done'],
      ['echo a && echo b 2>&1', 'a\nb'],
      ['echo "x=1&y=2"; exit 3', 'x=1&y=2\n[exit code 3]'],
      ["cat <<'END'\na & b\nEND", 'a & b'],
      ['(exit 4) & wait $!', '(no output)\n[exit code 4]'],
      ['echo last & # a comment\nwait', 'last'],
    ] as const)
      assert.equal((await use(sandbox, command)).output, output, command)
    assert.match((await use(sandbox, 'ls -a /tmp | grep -c runyard-left; true')).output, /^0$/)
  })
})

describe('where they end with it', { skip: whyNoBubblewrap() }, () => {
  test('they are named', async () => {
    const backend = await openBubblewrap({ data_dir: temporaryDirectory('data'), installation_id: 'test' })
    const sandbox = await backend.create({
      ...{ run_id: crypto.randomUUID(), attempt: 1, limits: DEFAULT_LIMITS, egress: 'none', env: {} },
    })
    const { output } = await use(sandbox, 'sleep 600 & sleep 601 & echo started')
    assert.match(
      output,
      /^started\n\[ended together with this call: sleep 600 \(process \d+\), sleep 601 \(process \d+\)\. .*background\.\]$/,
    )
    await sandbox.destroy()
  })
})
