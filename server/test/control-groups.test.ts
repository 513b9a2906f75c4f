/** Control groups of sandboxes are there while something may run in them, and no longer. */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { openBubblewrap } from '../src/sandbox/bubblewrap.ts'
import {
  type ControlGroupParent,
  findControlGroupParent,
  listControlGroups,
  makeControlGroup,
  nameOfControlGroup,
  planControlGroup,
} from '../src/sandbox/control-group.ts'
import { DEFAULT_LIMITS, type SandboxBackend } from '../src/sandbox/sandbox.ts'
import { until } from './support/cluster.ts'
import { apiOf, shell, startDevProcess, startService, temporaryDirectory } from './support/service.ts'
import { findProcesses, findWarden, printed } from './support/traces.ts'

const parent = findControlGroupParent()

describe('control groups', { skip: parent ? false : 'this machine has none to write to' }, () => {
  /** Names with this text in them, of this machine. */
  const namesWith = (text: string): string[] =>
    listControlGroups(parent as ControlGroupParent, 'runyard-')
      .map(nameOfControlGroup)
      .filter((name) => name.includes(text))

  describe('of a backend', () => {
    let backend: SandboxBackend
    before(async () => {
      backend = await openBubblewrap({ data_dir: temporaryDirectory('data'), installation_id: 'test' })
    })
    const specOf = (run_id: string, attempt: number) =>
      ({ run_id, attempt, limits: DEFAULT_LIMITS, egress: 'none', env: {} }) as const

    test('are given back by an idle sandbox, whose next attempt has another', async () => {
      const run_id = crypto.randomUUID()
      const first = await backend.create(specOf(run_id, 1))
      await first.writeFile('kept', 'kept')
      assert.equal(namesWith(run_id).length, 1)
      await backend.release?.(first.ref)
      await backend.release?.(first.ref)
      assert.deepEqual(namesWith(run_id), [])
      const second = await backend.attach(specOf(run_id, 2))
      assert.equal(String(await second?.readFile('kept')), 'kept')
      // The sandbox is another's by now.
      await backend.release?.(first.ref)
      assert.equal(namesWith(run_id).length, 1)
      await second?.destroy()
      assert.deepEqual(namesWith(run_id), [])
    })

    test('that no record names are removed with what runs in them, and no others', async () => {
      const run_id = crypto.randomUUID()
      const sandbox = await backend.create(specOf(run_id, 1))
      const marker = `610${Date.now()}`
      const sleep = sandbox.exec({ command: `sleep ${marker}` })
      const [name = ''] = namesWith(run_id)
      const prefix = name.slice(0, name.indexOf(run_id))
      const orphan = planControlGroup(parent as ControlGroupParent, `${prefix}${crypto.randomUUID()}-1-1`)
      makeControlGroup(orphan, DEFAULT_LIMITS)
      await until('the command', () => findProcesses(marker).length > 0)
      assert.equal(await backend.removeLeftovers?.(), 1)
      assert.equal(await backend.removeLeftovers?.(), 0)
      assert.deepEqual(namesWith(prefix), [name])
      assert(findProcesses(marker).length > 0)
      await sleep.kill()
      await sandbox.destroy()
    })
  })

  test('do not outlive their worker and its warden, both killed', { timeout: 600_000 }, async (t) => {
    const data_dir = temporaryDirectory('data')
    const first = await startDevProcess({ data_dir })
    t.after(() => first.stop())
    const api = apiOf(first)
    const idle = await api.create({ prompt: shell('true') })
    await api.ended(idle)
    assert.deepEqual(namesWith(idle), [])

    const marker = `611${Date.now()}`
    const cut = await api.create({
      prompt: shell(`if [ -e x ]; then echo on; else touch x; sleep ${marker}; fi`),
    })
    const never = await api.create({ prompt: shell(`sleep ${marker}`) })
    await until('both steps', () => findProcesses(marker).length >= 2 && namesWith(never).length > 0)
    const [name = ''] = namesWith(never)
    const prefix = name.slice(0, name.indexOf(never))
    // As one is left that was killed between making it and writing it down.
    const orphan = planControlGroup(parent as ControlGroupParent, `${prefix}${crypto.randomUUID()}-1-1`)
    makeControlGroup(orphan, DEFAULT_LIMITS)
    process.kill(findWarden(first.pid), 'SIGSTOP')
    process.kill(findWarden(first.pid), 'SIGKILL')
    await first.kill('SIGKILL')

    const next = await startService({ data_dir, embedded: true })
    t.after(() => next.stop())
    const after_kill = apiOf(next)
    await after_kill.json('POST', `/agent/runs/${never}/cancel`)
    await after_kill.ended(cut)
    assert.equal(printed(await after_kill.events(cut)), 'on\n')
    await until('no group to be left', () => namesWith(prefix).length === 0)
    const kept = readdirSync(join(data_dir, 'sandboxes/bubblewrap'))
    for (const run_id of [idle, cut]) assert(kept.includes(`${run_id}-1`), 'its workspace is kept')
  })
})
