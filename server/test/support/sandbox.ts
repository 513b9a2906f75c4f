import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openHost } from '../../src/sandbox/host.ts'
import { DEFAULT_LIMITS, type Sandbox } from '../../src/sandbox/sandbox.ts'

/**
 * A real sandbox of its own, on the host backend: it runs wherever the tests do. `destroy` leaves nothing behind.
 */
export async function openTestSandbox(): Promise<Sandbox> {
  const data_dir = await mkdtemp(join(tmpdir(), 'runyard-test-'))
  const backend = await openHost({ data_dir, installation_id: 'test' })
  const sandbox = await backend.create({
    run_id: 'run-1',
    attempt: 1,
    limits: DEFAULT_LIMITS,
    egress: 'open',
    env: {},
  })
  const destroy = sandbox.destroy.bind(sandbox)
  sandbox.destroy = async () => {
    await destroy()
    await rm(data_dir, { recursive: true, force: true })
  }
  return sandbox
}
