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
