/** A service that is told to stop by a signal which its sandboxes get as well: the work goes on after the next start. */
import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { after, test } from 'node:test'
import { findTree } from '../src/sandbox/process-tree.ts'
import { until } from './support/cluster.ts'
import { LONG, onlyLong } from './support/once.ts'
import { apiOf, type DevProcess, shell, startDevProcess, temporaryDirectory } from './support/service.ts'
import { assertWhole, findProcesses, inWorkspace, printed } from './support/traces.ts'

const waysToStop: Record<string, (service: DevProcess) => Promise<void>> = {
  'Ctrl-C in its terminal': (service) => signalAll(service, [-service.pid], 'SIGINT'),
  'SIGTERM to its process group': (service) => signalAll(service, [-service.pid], 'SIGTERM'),
  // As systemd does by default; the service first.
  'SIGTERM to each of its processes': (service) =>
    signalAll(
      service,
      findTree((pid) => pid === service.pid),
      'SIGTERM',
    ),
  'SIGTERM to its processes, sandboxes first': (service) =>
    signalAll(service, findTree((pid) => pid === service.pid).reverse(), 'SIGTERM'),
}

/** How it is stopped in practice. */
const COMMON = ['Ctrl-C in its terminal', 'SIGTERM to each of its processes']

async function signalAll(service: DevProcess, pids: number[], signal: NodeJS.Signals): Promise<void> {
  for (const pid of pids) {
    try {
      process.kill(pid, signal)
    } catch {
      // It ended of the signal to another one.
    }
  }
  await service.exited
}

/** One after the other on one data directory: each start finds what the stop before has left. */
const data_dir = temporaryDirectory('data')
const start = (grace_seconds = '1') =>
  startDevProcess({ data_dir, group: true, env: { RUNYARD_GRACE_SECONDS: grace_seconds } })
let running: DevProcess | undefined
/** The last of these tests leaves a service for the one after it, whose work needs longer. */
const graceAfter = (name: string) => (name === (LONG ? Object.keys(waysToStop) : COMMON).at(-1) ? '60' : '1')
after(() => running?.stop())

for (const [name, stop] of Object.entries(waysToStop)) {
  // Any signal to the service is handled alike; what differs is whom it reaches beside it, and when.
  const register = COMMON.includes(name) ? test : onlyLong
  register(
    `${name}: a command and a setup command at work are interrupted, and their runs go on`,
    async () => {
      const first = running ?? (await start())
      const marker = `700${Date.now()}`
      const waiting = `if [ -e waited ]; then echo passed; else touch waited; sleep ${marker}; fi`
      const { uid } = await apiOf(first).json<{ uid: string }>('POST', '/agent/environments', {
        name,
        setup_commands: [`sleep ${marker}`],
      })
      const worked = await apiOf(first).create({ prompt: [waiting, 'echo done'].map(shell).join('\n') })
      const prepared = await apiOf(first).create({ prompt: '…', config: { environment_id: uid } })
      await until('both commands', () => findProcesses(marker).length >= 2)

      running = undefined
      await stop(first)
      assert.deepEqual(findProcesses(marker), [])

      running = await start(graceAfter(name))
      const api = apiOf(running)
      const run = await api.ended(worked)
      const events = await api.events(worked)
      assertWhole(events)
      assert.deepEqual([run.state, run.attempt], ['SUCCEEDED', 2])
      // The shell says so where the signal reaches what it waits for first.
      assert.match(printed(events), /^(Terminated\n)?passed\ndone\n$/)
      // The setup begins anew, in a fresh workspace.
      await until('the setup to wait again', () => findProcesses(marker).length > 0)
      const { state, attempt } = await api.get(prepared)
      assert.deepEqual([state, attempt], ['CLAIMED', 2])
      await api.json('POST', `/agent/runs/${prepared}/cancel`)
      await api.ended(prepared)
    },
  )
}

test('a run that goes over its disk limit while the service stops ends then, and does not go on without its workspace', async () => {
  const first = running ?? (await start('60'))
  running = undefined
  const api = apiOf(first)
  const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', {
    name: 'small',
    limits: { disk_mb: 64 },
  })
  const fill =
    'touch here; until [ -e go ]; do sleep 0.1; done; head -c 200000000 /dev/zero > large; sleep 600'
  const run_id = await api.create({ prompt: shell(fill), config: { environment_id: uid } })
  await until('the command', () => existsSync(inWorkspace(data_dir, run_id, 'here')))
  const stopped = first.stop()
  writeFileSync(inWorkspace(data_dir, run_id, 'go'), '')
  await stopped

  running = await start()
  const { state, status_message, attempt } = await apiOf(running).get(run_id)
  assert.deepEqual([state, status_message?.error_code, attempt], ['FAILED', 'budget_exceeded', 1])
})
