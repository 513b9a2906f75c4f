/** A Docker sandbox's user keeps its name from one container to the next, and older sandboxes go on without one. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { DEFAULT_LIMITS } from '../src/sandbox/sandbox.ts'
import { whyNoDocker } from './support/machine.ts'
import { openBackend, TEST_IMAGE } from './support/sandbox-backends.ts'
import { run } from './support/sandbox-conformance.ts'

const docker = (...args: string[]): string => execFileSync('docker', args, { encoding: 'utf8' })

test('a later attempt has the name, a sandbox of an older version has user 1000 and the image’s accounts', {
  skip: whyNoDocker(),
}, async () => {
  const backend = await openBackend('docker', { data_dir: '/nowhere', installation_id: randomUUID() })
  const spec = { run_id: randomUUID(), limits: DEFAULT_LIMITS, egress: 'none' as const, env: {} }
  const { ref } = await backend.create({ ...spec, attempt: 1 })
  try {
    const later = await backend.attach({ ...spec, attempt: 2 })
    assert(later)
    assert.equal((await run(later, 'whoami; id -gn')).stdout, 'agent\nagent\n')

    // What an older version would have left: no label of a user or a name, and the program alone in its volume.
    docker('rm', '--force', `${ref.id}.2`)
    const [workspace, program] = [`${ref.id}-workspace`, `${ref.id}-program`]
    docker(
      'run',
      '--rm',
      '--volume',
      `${program}:/program`,
      TEST_IMAGE,
      'rm',
      '/program/passwd',
      '/program/group',
    )
    const labels: Record<string, string> = JSON.parse(
      docker('volume', 'inspect', '--format', '{{json .Labels}}', workspace),
    )
    const older = Object.entries(labels).filter(([name]) => !/\.(user|named)$/.test(name))
    docker('volume', 'rm', workspace)
    docker(
      'volume',
      'create',
      ...older.flatMap(([name, value]) => ['--label', `${name}=${value}`]),
      workspace,
    )
    const attached = await backend.attach({ ...spec, attempt: 3 })
    assert(attached)
    assert.equal((await run(attached, 'id -u; getent passwd root | cut -d: -f1')).stdout, '1000\nroot\n')
  } finally {
    for (const { ref } of await backend.list()) await backend.destroy(ref)
  }
})
