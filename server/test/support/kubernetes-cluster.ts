/** A real Kubernetes cluster for tests, and a namespace of each test file in it. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { readClusterAccess } from '../../src/sandbox/kubernetes-access.ts'
import { KubernetesApi } from '../../src/sandbox/kubernetes-api.ts'

/** As the node knows it. */
export const CLUSTER_IMAGE = 'docker.io/library/runyard-test:1'

/** Why there is no cluster; `false` where there is one, which `KUBECONFIG` names from then on. */
export function whyNoKubernetes(): string | false {
  const path = fileURLToPath(new URL('../../../scripts/test-kubernetes.sh', import.meta.url))
  const { status, stdout, stderr } = spawnSync(path, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  if (status !== 0) return `this machine cannot run it: ${stderr.trim()}`
  process.env.KUBECONFIG = stdout.trim()
  return false
}

export interface TestNamespace {
  api: KubernetesApi
  remove(): Promise<void>
}

/**
 * Makes a namespace in which Pod Security enforces `restricted`; processes of this test find its name in
 * `RUNYARD_TEST_NAMESPACE`.
 */
export async function makeNamespace(name = `runyard-test-${process.pid}`): Promise<TestNamespace> {
  const api = new KubernetesApi(await readClusterAccess(), name)
  await api.call('/api/v1/namespaces', {
    method: 'POST',
    body: {
      metadata: { name, labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
    },
  })
  process.env.RUNYARD_TEST_NAMESPACE = name
  return {
    api,
    async remove() {
      delete process.env.RUNYARD_TEST_NAMESPACE
      await api.call(`/api/v1/namespaces/${name}`, { method: 'DELETE' })
    },
  }
}

/** An address of this machine that Pods reach: the node's way out, where the cluster is the tests' own. */
export function addressForPods(): string {
  return process.env.RUNYARD_TEST_HOST ?? `${process.env.RK8S_NET ?? '10.213'}.0.1`
}
