import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import {
  freezeControlGroup,
  joinFiles,
  killControlGroup,
  listControlGroupParents,
  listControlGroups,
  makeControlGroup,
  membersOf,
  planControlGroup,
  removeControlGroup,
  thawControlGroup,
} from './control-group.ts'
import { signalTree } from './process-tree.ts'
import { DEFAULT_LIMITS } from './sandbox.ts'

// Which there are is the machine's business: hierarchies of version 1, version 2 or, on a hybrid one, both.
for (const parent of listControlGroupParents()) {
  const kind = parent.version === 1 ? 'version 1' : `version 2, ${parent.hard ? 'with' : 'without'} limits`
  test(`joins, freezes, thaws and kills a tree (${kind})`, async () => {
    const group = planControlGroup(parent, `runyard-test-${process.pid}`)
    makeControlGroup(group, DEFAULT_LIMITS)
    assert.deepEqual(listControlGroups(parent, `runyard-test-${process.pid}`), [group])
    const join = joinFiles(group).map((file) => `echo 0 > ${file}`)
    const script = [...join, 'echo joined', '(setsid sleep 1000 &)', 'while :; do :; done'].join('\n')
    const child = spawn('/bin/sh', ['-c', script], { stdio: ['ignore', 'pipe', 'inherit'] })
    const ended = new Promise((resolve) => child.once('exit', (_, signal) => resolve(signal)))
    for await (const _ of child.stdout) break
    while (membersOf(group).length < 2) await new Promise((resolve) => setTimeout(resolve, 5))

    await freezeControlGroup(group)
    const ticks = () => readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(' ')[13]
    const frozen_at = ticks()
    await new Promise((resolve) => setTimeout(resolve, 100))
    assert.equal(ticks(), frozen_at, 'a busy loop spent no time')
    thawControlGroup(group)
    while (ticks() === frozen_at) await new Promise((resolve) => setTimeout(resolve, 5))

    await freezeControlGroup(group)
    await killControlGroup(group)
    assert.equal(await ended, 'SIGKILL')
    assert.deepEqual(membersOf(group), [])
    removeControlGroup(group)
    removeControlGroup(group)
    assert.ok(joinFiles(group).every((file) => !existsSync(file)))
  })
}

// In version 2 a frozen process can be killed, so nothing there withstands a kill that a test could set up.
for (const parent of listControlGroupParents().filter(({ version }) => version === 1))
  test('a kill that does not reach the processes is told as a fault, and reaches them later', async () => {
    const outer = planControlGroup(parent, `runyard-test-outer-${process.pid}`)
    const group = planControlGroup(outer, 'inner')
    makeControlGroup(group, DEFAULT_LIMITS)
    const join = joinFiles(group).map((file) => `echo 0 > ${file}`)
    const child = spawn('/bin/sh', ['-c', [...join, 'echo joined', 'exec sleep 1000'].join('\n')])
    const ended = new Promise((resolve) => child.once('exit', (_, signal) => resolve(signal)))
    for await (const _ of child.stdout) break
    try {
      // Frozen from above: no signal arrives, and thawing the group itself changes nothing.
      await freezeControlGroup(outer)
      await assert.rejects(killControlGroup(group), /1 processes of inner could not be killed in time/)
      assert.deepEqual(membersOf(group), [child.pid])
      const isOurs = (pid: number) => pid === child.pid
      await assert.rejects(signalTree(isOurs, 'SIGKILL'), /1 processes of the sandbox could not be killed/)
      await assert.rejects(signalTree(isOurs, 'SIGSTOP'), /1 processes of the sandbox could not be stopped/)
    } finally {
      thawControlGroup(outer)
    }
    await killControlGroup(group)
    assert.equal(await ended, 'SIGKILL')
    await signalTree((pid) => pid === child.pid, 'SIGKILL')
    removeControlGroup(group)
    removeControlGroup(outer)
  })
