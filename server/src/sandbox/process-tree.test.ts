import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { findTree, signalTree } from './process-tree.ts'
import { until } from './until.ts'

/** The call of `vfork(2)` with the child asleep where shells have theirs for a moment: before it becomes another program. */
const VFORK = `my $clone = \`uname -m\` =~ /^aarch64/ ? 220 : 56;
sleep 1000 if syscall($clone, 0x4111, 0, 0, 0, 0) == 0`

test('stops a process whose child is stopped between vfork and exec', async () => {
  const child = spawn('perl', ['-e', VFORK], { stdio: 'ignore' })
  const ended = new Promise((resolve) => child.once('exit', (_, signal) => resolve(signal)))
  const isRoot = (pid: number) => pid === child.pid
  assert(await until(() => findTree(isRoot).length === 2, 10_000))
  // Each waits for the other on its way into the call.
  await wait(50)
  await signalTree(isRoot, 'SIGSTOP')
  await signalTree(isRoot, 'SIGKILL')
  assert.equal(await ended, 'SIGKILL')
  assert.deepEqual(findTree(isRoot), [])
})
