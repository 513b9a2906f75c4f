import { test } from 'node:test'
import { whyNoDocker } from './support/machine.ts'
import { testSandboxBackend } from './support/sandbox-conformance.ts'

const skip = whyNoDocker()
if (skip === false) testSandboxBackend('docker')
else test('docker sandbox', { skip }, () => {})
