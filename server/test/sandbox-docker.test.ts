import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { testSandboxBackend } from './support/sandbox-conformance.ts'

const script = fileURLToPath(new URL('../../scripts/test-docker.sh', import.meta.url))
const { status, stderr } = spawnSync(script, { encoding: 'utf8', stdio: ['ignore', 'ignore', 'pipe'] })
if (status === 0) await testSandboxBackend('docker')
else test('docker sandbox', { skip: `this machine cannot run it: ${stderr.trim()}` }, () => {})
