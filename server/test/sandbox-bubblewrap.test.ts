import { test } from 'node:test'
import { whyNoBubblewrap } from './support/machine.ts'
import { testSandboxBackend } from './support/sandbox-conformance.ts'

const skip = whyNoBubblewrap()
if (skip === false) testSandboxBackend('bubblewrap')
else test('bubblewrap sandbox', { skip }, () => {})
