/** What is killed for memory says so to the agent, with the limit. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createAcp } from '../src/harness/acp.ts'
import { listAgents } from '../src/harness/acp-agents.ts'
import { BackgroundCommands } from '../src/harness/background-commands.ts'
import { writeInstructions } from '../src/harness/instructions.ts'
import { openModels } from '../src/harness/models.ts'
import { TOOLS } from '../src/harness/tools/toolset.ts'
import { openBubblewrap } from '../src/sandbox/bubblewrap.ts'
import { DEFAULT_LIMITS, type Sandbox } from '../src/sandbox/sandbox.ts'
import { whyNoBubblewrap } from './support/machine.ts'
import { apiOf, shell, startService, temporaryDirectory } from './support/service.ts'
import { TestTurn } from './support/turn.ts'

/** More than the limit, and quick to get there. */
const HOG = `perl -e '$x = "a" x (96 << 20); @y = map { $x . $_ } 1 .. 4'`

describe('memory of a sandbox', { skip: whyNoBubblewrap() }, () => {
  let sandbox: Sandbox
  let turn: TestTurn
  const background = new BackgroundCommands()
  before(async () => {
    const backend = await openBubblewrap({ data_dir: temporaryDirectory('data'), installation_id: 'test' })
    sandbox = await backend.create({
      ...{ run_id: crypto.randomUUID(), attempt: 1, egress: 'none', env: {} },
      limits: { ...DEFAULT_LIMITS, memory_bytes: 200 * 1024 ** 2 },
    })
    turn = new TestTurn({ sandbox })
  })
  after(async () => {
    await background.close()
    await sandbox.destroy()
  })
  const use = async (name: string, input: Record<string, unknown>) => {
    const tool = TOOLS.get(name)
    assert(tool)
    return tool.run(input, { turn, tool_call_id: 'call-1', background })
  }

  test('its command is told why it was killed', async (t) => {
    if (!sandbox.takeMemoryKills) return t.skip('no control groups to write to')
    const alone = await use('bash', { command: `exec ${HOG}` })
    assert.equal(alone.output, '(no output)\n[killed: over the memory limit of 200 MiB]')
    // A shell around it says "Killed" at most, and goes on.
    const { output, exit_code } = await use('bash', { command: `${HOG}; echo "went on with $?"` })
    assert.equal(exit_code, 0)
    assert.match(
      output,
      /went on with 137\n\[killed: over the memory limit of 200 MiB: a process of the sandbox\]$/,
    )
    const inner = await use('bash', { command: `(${HOG}) 2>/dev/null` })
    assert.match(inner.output, /\[killed: over the memory limit of 200 MiB\]/)
    await use('bash', { command: `exec ${HOG}`, background: true })
    const ended = await use('bash_output', { id: 'bg1', wait_seconds: 60 })
    assert.equal(
      ended.output,
      '(no new output)\n[killed: over the memory limit of 200 MiB]\n[bg1 ended by SIGKILL]',
    )
    assert.equal((await use('bash', { command: 'kill -9 $$' })).output, '(no output)\n[ended by SIGKILL]')
  })

  test('an agent of another make that was killed for it, too', async (t) => {
    if (!sandbox.takeMemoryKills) return t.skip('no control groups to write to')
    const command = ['perl', '-e', HOG.slice("perl -e '".length, -1)]
    const agent = listAgents({ hungry: { command } }).find(({ name }) => name === 'hungry')
    assert(agent)
    const outcome = await new TestTurn({ sandbox, prompt: 'Eat.' }).runHarness(
      createAcp(agent, openModels({})),
    )
    assert.match(
      outcome.status_message?.message ?? '',
      /hungry ended \(SIGKILL\) before it was done\. It was killed: over the memory limit of 200 MiB/,
    )
  })

  test('its limits are told', async () => {
    const told = writeInstructions(turn)
    if (sandbox.takeMemoryKills)
      assert.match(told, /have 200 MiB of memory \(\$RUNYARD_MEMORY_LIMIT_MB\), 1 CPU \(/)
    assert.match(told, /10240 MiB of disk \(\$RUNYARD_DISK_LIMIT_MB\)/)
  })

  test('a step of a runbook and a setup command say so as well', async (t) => {
    if (!sandbox.takeMemoryKills) return t.skip('no control groups to write to')
    const service = await startService({
      data_dir: temporaryDirectory('data'),
      env: { RUNYARD_SANDBOX: 'bubblewrap' },
    })
    t.after(() => service.stop())
    const api = apiOf(service)
    const endOf = async (setup_commands: string[], prompt: string) => {
      const environment = { name: crypto.randomUUID(), limits: { memory_mb: 200 }, setup_commands }
      const made = await api.call('POST', '/agent/environments', environment)
      const { uid } = (await made.json()) as { uid: string }
      const { state, status_message } = await api.ended(
        await api.create({ prompt, config: { environment_id: uid } }),
      )
      return `${state} ${status_message?.message}`
    }
    assert.match(
      await endOf([HOG], shell('true')),
      /^FAILED .*, killed: over the memory limit of 200 MiB\.$/m,
    )
    // Of what was killed in the setup the agent is not told.
    const step = await endOf([`${HOG}; true`], shell(`false; ${HOG}`))
    assert.match(step, /^FAILED .* was killed: over the memory limit of 200 MiB\.$/)
    assert.match(await endOf([`${HOG}; true`], shell('exit 3')), /^FAILED .* ended with exit code 3\.$/)
  })
})
