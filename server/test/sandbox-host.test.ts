import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import { openHost } from '../src/sandbox/host.ts'
import { collectExec } from '../src/sandbox/sandbox.ts'
import { run, testSandboxBackend } from './support/sandbox-conformance.ts'
import { temporaryDirectory } from './support/service.ts'

testSandboxBackend('host')

test('commands on the host get only the variables that every program needs', async () => {
  // Of Node's test runner, and there from the start.
  assert(process.env.NODE_TEST_CONTEXT)
  const host = await openHost({ data_dir: temporaryDirectory('host'), installation_id: randomUUID() })
  const limits = { memory_bytes: 1024 ** 3, pids: 256, cpus: 1, disk_bytes: 1024 ** 3 }
  const sandbox = await host.create({ run_id: randomUUID(), attempt: 1, limits, egress: 'open', env: {} })
  const { stdout } = await run(sandbox, 'env')
  assert.match(stdout, /^PATH=/m)
  assert.doesNotMatch(stdout, /^NODE_TEST_CONTEXT=/m)
  await sandbox.destroy()
})

test('a command that cannot be started leaves no descriptor open', async () => {
  const host = await openHost({ data_dir: temporaryDirectory('host'), installation_id: randomUUID() })
  const limits = { memory_bytes: 1024 ** 3, pids: 256, cpus: 1, disk_bytes: 1024 ** 3 }
  const sandbox = await host.create({ run_id: randomUUID(), attempt: 1, limits, egress: 'open', env: {} })
  const count = () => readdirSync('/proc/self/fd').length
  const before = count()
  const env = { TOO_LONG: 'x'.repeat(200_000) }
  // Two pipes each time: in the end as many are spare as before.
  for (let round = 0; round < 48; round++)
    await assert.rejects(collectExec(sandbox.exec({ command: 'true', env })), /E2BIG/)
  assert.ok(count() - before < 48, `${count() - before} more are open`)
  await sandbox.destroy()
})
