import { testSandboxBackend } from './support/sandbox-conformance.ts'

await testSandboxBackend('host')
