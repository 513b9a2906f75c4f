import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { testSandboxBackend } from './support/sandbox-conformance.ts'

const script = fileURLToPath(new URL('../../scripts/setup-debian.sh', import.meta.url))
const { status, stderr } = spawnSync(script, ['sandbox'], { encoding: 'utf8' })
if (status === 0) await testSandboxBackend('bubblewrap')
else test('bubblewrap sandbox', { skip: `this machine cannot run it: ${stderr.trim()}` }, () => {})
