/**
 * A process of its own that works on sandboxes, as a worker or the warden would: reads one JSON order from its first
 * argument, carries it out and prints one line of JSON. `hold` starts a command and then waits to be killed.
 */

import type { SandboxRef, SandboxSpec } from '../../src/sandbox/sandbox.ts'
import { collectExec } from '../../src/sandbox/sandbox.ts'
import { type BackendName, openBackend } from './sandbox-backends.ts'

export type SandboxOrder = { backend: BackendName; data_dir: string; installation_id: string } & (
  | { action: 'freeze' | 'thaw' | 'kill'; ref: SandboxRef }
  | { action: 'run'; spec: SandboxSpec; command: string }
  | { action: 'hold'; spec: SandboxSpec; command: string }
)

const order: SandboxOrder = JSON.parse(process.argv[2] ?? '')
const backend = await openBackend(order.backend, order)

if (order.action === 'run' || order.action === 'hold') {
  const sandbox = await backend.create(order.spec)
  const handle = sandbox.exec({ command: order.command })
  if (order.action === 'hold') {
    for await (const chunk of handle.output) {
      if (Buffer.from(chunk.data).includes('ready')) console.log(JSON.stringify(sandbox.ref))
    }
  } else {
    const { stdout } = await collectExec(handle)
    await sandbox.destroy()
    console.log(JSON.stringify(stdout.toString()))
  }
} else {
  await backend[order.action]?.(order.ref)
  console.log(JSON.stringify('done'))
}
