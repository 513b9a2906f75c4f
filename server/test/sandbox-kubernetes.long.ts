import { after, test } from 'node:test'
import { makeNamespace, whyNoKubernetes } from './support/kubernetes-cluster.ts'
import { testSandboxBackend } from './support/sandbox-conformance.ts'

const skip = whyNoKubernetes()
if (skip === false) {
  const namespace = await makeNamespace()
  testSandboxBackend('kubernetes')
  after(() => namespace.remove())
} else test('kubernetes sandbox', { skip }, () => {})
