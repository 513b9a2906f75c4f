import { testSandboxBackend } from './support/sandbox-conformance.ts'

testSandboxBackend('host')
