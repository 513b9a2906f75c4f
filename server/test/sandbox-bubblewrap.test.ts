import { testSandboxBackend } from './support/sandbox-conformance.ts'

await testSandboxBackend('bubblewrap')
