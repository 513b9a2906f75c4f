/** `runyard dev` killed without warning: runs go on, nothing is left behind, nothing is done twice. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, describe, test } from 'node:test'
import { until } from './support/cluster.ts'
import { removeSandbox } from './support/docker-images.ts'
import { whyNoDocker } from './support/machine.ts'
import { LONG } from './support/once.ts'
import { TEST_IMAGE } from './support/sandbox-backends.ts'
import {
  apiOf,
  type DevProcess,
  shell,
  spawnRunyard,
  startDevProcess,
  temporaryDirectory,
} from './support/service.ts'
import { assertWhole, findProcesses, findWarden, ofType, printed, workersOf } from './support/traces.ts'

const started = new Set<DevProcess>()
const start = async (options: Parameters<typeof startDevProcess>[0] = {}): Promise<DevProcess> => {
  const service = await startDevProcess(options)
  started.add(service)
  return service
}
after(() => Promise.all([...started].map((service) => service.stop())))

describe('the embedded service', () => {
  /** The one that went on after the kill; the tests that need no other share it. */
  const data_dir = temporaryDirectory('data')
  let service: DevProcess | undefined
  const running = async (): Promise<DevProcess> => {
    service ??= await start({ data_dir })
    return service
  }

  test('goes on with a run after kill -9, without repeating a finished step', async () => {
    const first = await start({ data_dir })
    const marker = `600${Date.now()}`
    // The second step waits the first time and passes the second.
    const steps = [
      'echo one >> done; echo kept > file',
      `if [ -e waited ]; then echo two >> done; else touch waited; sleep ${marker}; fi`,
      'echo three >> done; cat done file',
    ]
    const run_id = await apiOf(first).create({ prompt: steps.map(shell).join('\n') })
    await until('the second step', () => findProcesses(marker).length > 0)

    await first.kill('SIGKILL')
    await until('the sandbox to die', () => findProcesses(marker).length === 0)

    const api = apiOf(await running())
    const run = await api.ended(run_id)
    const events = await api.events(run_id)
    assert.deepEqual([run.state, run.attempt, run.execution], ['SUCCEEDED', 2, 1])
    assertWhole(events)
    // Nothing before the kill was done again; what was cut off was told and repeated.
    assert.equal(printed(events), 'one\ntwo\nthree\nkept\n')
    assert.equal(ofType(events, 'attempt.lost').length, 1)
    assert.deepEqual(
      ofType(events, 'tool.result').map(({ data }) => [data.tool_call_id.slice(37), data.exit_code]),
      [
        ['1', 0],
        ['2', null],
        ['2:r1', 0],
        ['3', 0],
      ],
    )
    const [interrupted] = ofType(events, 'tool.result').filter(({ data }) => data.is_error)
    assert.match(interrupted?.data.output ?? '', /the worker was lost/)
    assert(ofType(events, 'setup').some(({ data }) => data.phase === 'restore'))
  })

  // That it is given up with the life of its process, the test above shows.
  test('refuses a second process on its data directory', async () => {
    const first = await running()
    const second = spawnRunyard(['dev', '--port', '0', '--data-dir', data_dir, '--sandbox', 'bubblewrap'])
    const code = await new Promise((resolve) => second.once('exit', resolve))
    assert.notEqual(code, 0)
    assert.match(second.log(), /Another runyard process uses the data directory/)
    const run_id = await apiOf(first).create({ prompt: shell('echo unharmed') })
    assert.equal((await apiOf(first).ended(run_id)).state, 'SUCCEEDED')
  })

  test('takes its runs back when the warden dies, and works on with a new one', async () => {
    const service = await running()
    const api = apiOf(service)
    const marker = `601${Date.now()}`
    const run_id = await api.create({
      prompt: shell(`if [ -e waited ]; then echo again; else touch waited; sleep ${marker}; fi`),
    })
    await until('the step', () => findProcesses(marker).length > 0)
    const warden = findWarden(service.pid)
    process.kill(warden, 'SIGKILL')
    await until('the unguarded sandbox to die', () => findProcesses(marker).length === 0)

    const run = await api.ended(run_id)
    const events = await api.events(run_id)
    assert.deepEqual([run.state, run.attempt, printed(events)], ['SUCCEEDED', 2, 'again\n'])
    assertWhole(events)
    const [before, now] = workersOf(events)
    assert.notEqual(before, now)
    assert.notEqual(findWarden(service.pid), warden)
  })

  test('cancels a run in the middle of its setup', async () => {
    const api = apiOf(await running())
    const marker = `602${Date.now()}`
    const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', {
      name: randomUUID(),
      setup_commands: [`sleep ${marker}`],
    })
    const run_id = await api.create({
      prompt: shell('echo never'),
      config: { environment_id: uid },
    })
    await until('the setup command', () => findProcesses(marker).length > 0)
    await api.json('POST', `/agent/runs/${run_id}/cancel`)
    await until('the setup command to die', () => findProcesses(marker).length === 0)
    const run = await api.ended(run_id)
    assert.equal(run.state, 'CANCELLED')
    const events = await api.events(run_id)
    assertWhole(events)
    assert.equal(printed(events), '')

    // A follow-up begins with a whole workspace, not with half of one.
    await api.json('POST', `/agent/runs/${run_id}/followups`, { message: shell('echo after') })
    await until('the second setup', () => findProcesses(marker).length > 0)
    await api.json('POST', `/agent/runs/${run_id}/cancel`)
    assert.equal((await api.ended(run_id)).state, 'CANCELLED')
  })

  const unnamed = process.getuid?.() === 0 ? false : 'only root can rename a machine'
  const undocked = whyNoDocker()
  for (const sandbox of ['bubblewrap', ...(LONG ? (['host', 'docker'] as const) : [])] as const)
    test(`finds its workspaces in ${sandbox} though the machine is called something else`, {
      skip: unnamed || (sandbox === 'docker' && undocked),
    }, async (context) => {
      // In bubblewrap the last test on what they share.
      const options = {
        data_dir: sandbox === 'bubblewrap' ? data_dir : temporaryDirectory('data'),
        sandbox,
        ...(sandbox === 'docker' ? { env: { RUNYARD_DEFAULT_IMAGE: TEST_IMAGE } } : {}),
      }
      const first = sandbox === 'bubblewrap' ? await running() : await start(options)
      const run_id = await apiOf(first).create({ prompt: shell('echo kept > file') })
      if (sandbox === 'docker') context.after(() => removeSandbox(run_id))
      await apiOf(first).ended(run_id)
      await first.stop()

      const rename = 'hostname renamed-by-a-test && exec "$0" "$@"'
      const second = await start({ ...options, prefix: ['unshare', '--uts', 'sh', '-c', rename] })
      const api = apiOf(second)
      await api.json('POST', `/agent/runs/${run_id}/followups`, { message: shell('cat file') })
      await api.ended(run_id)
      assert.equal(printed(await api.events(run_id)), 'kept\n')
    })
})
