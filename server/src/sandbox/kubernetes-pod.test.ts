import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makePolicy } from './kubernetes-network.ts'
import { makePod, type PodParts } from './kubernetes-pod.ts'
import { parsePodTemplate } from './kubernetes-template.ts'
import { DEFAULT_LIMITS } from './sandbox.ts'

const parts = (more: Partial<PodParts> = {}): PodParts => ({
  ref: { backend: 'kubernetes', id: 'runyard-1', run_id: 'run: 1', attempt: 2 },
  owner: 'secret',
  kind: { limits: DEFAULT_LIMITS, egress: 'none' },
  image: 'node:24',
  installation_id: 'installation',
  template: {},
  ...more,
})

interface Container {
  name: string
  args?: string[]
  imagePullPolicy: string
  securityContext: object
  resources: { requests: object; limits: Record<string, string> }
  volumeMounts: Array<{ mountPath: string; readOnly?: boolean }>
}

interface MadePod {
  metadata: { labels: Record<string, string>; annotations: Record<string, string> }
  spec: {
    automountServiceAccountToken: boolean
    runtimeClassName?: string
    tolerations?: object[]
    securityContext: Record<string, unknown>
    volumes: Array<{ name: string }>
    initContainers: Container[]
    containers: Container[]
  }
}

const make = (more: Partial<PodParts> = {}): MadePod => makePod(parts(more)) as MadePod

test('every container is as Pod Security calls restricted, and has no token of a service account', () => {
  const { spec } = make()
  assert.equal(spec.automountServiceAccountToken, false)
  assert.equal(spec.securityContext.runAsNonRoot, true)
  assert.deepEqual(spec.securityContext.seccompProfile, { type: 'RuntimeDefault' })
  assert.ok(Number(spec.securityContext.runAsUser) > 1000)
  for (const container of [...spec.initContainers, ...spec.containers])
    assert.deepEqual(container.securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
})

test('a run’s limits are the Pod’s, and its id is found again whatever it holds', () => {
  const { metadata, spec } = make()
  assert.deepEqual(spec.containers[0]?.resources.limits, {
    cpu: '1000m',
    memory: String(1024 ** 3),
    'ephemeral-storage': String(20 * 1024 ** 3),
  })
  assert.equal(metadata.annotations['runyard.dev/run-id'], 'run: 1')
  assert.match(metadata.labels['runyard.dev/run'] ?? '', /^[0-9a-f]{32}$/)
  assert.equal(metadata.labels['runyard.dev/egress'], 'none')
})

test('an image that may not be pulled is not', () => {
  const policy = (kind: Partial<PodParts['kind']>) =>
    make({ kind: { limits: DEFAULT_LIMITS, egress: 'none', ...kind } }).spec.containers[0]?.imagePullPolicy
  assert.equal(policy({}), 'IfNotPresent')
  assert.equal(policy({ image: 'acme/tool', pull: true }), 'IfNotPresent')
  assert.equal(policy({ image: 'acme/tool' }), 'Never')
})

test('a template adds to a Pod, and takes nothing of what protects it away', () => {
  const template = parsePodTemplate(
    `
metadata:
  labels: { team: agents }
spec:
  runtimeClassName: gvisor
  nodeSelector: { pool: sandboxes }
  tolerations: [{ key: sandboxes, operator: Exists }]
  securityContext: { runAsUser: 1000650000 }
  volumes: [{ name: cache, persistentVolumeClaim: { claimName: cache } }]
  containers:
    - name: sandbox
      resources: { requests: { cpu: 500m }, limits: { example.com/gpu: 1 } }
      volumeMounts: [{ name: cache, mountPath: /cache, readOnly: true }]
`,
    'pod.yaml',
  )
  const { metadata, spec } = make({ template })
  assert.equal(metadata.labels.team, 'agents')
  assert.equal(spec.runtimeClassName, 'gvisor')
  assert.equal(spec.securityContext.runAsUser, 1000650000)
  assert.equal(spec.securityContext.runAsNonRoot, true)
  assert.deepEqual(
    spec.volumes.map(({ name }) => name),
    ['cache', 'runyard-data', 'runyard-tmp'],
  )
  const [container] = spec.containers
  assert.equal(container?.resources.limits.memory, String(1024 ** 3), 'the run’s own')
  assert.equal(container?.resources.limits['example.com/gpu'], 1)
  assert.ok(container?.volumeMounts.some(({ mountPath }) => mountPath === '/cache'))
})

for (const [text, says] of [
  ['spec: { hostNetwork: true }', /spec: .*hostNetwork/],
  ['spec: { automountServiceAccountToken: true }', /automountServiceAccountToken/],
  ['spec: { securityContext: { runAsUser: 0 } }', /spec\.securityContext\.runAsUser/],
  ['spec: { volumes: [{ name: x, hostPath: { path: / } }] }', /spec\.volumes\.0: is a hostPath/],
  ['spec: { containers: [{ name: sandbox, image: x }] }', /spec\.containers\.0: .*image/],
  [
    'spec: { containers: [{ name: sandbox, volumeMounts: [{ name: x, mountPath: /workspace/a }] }] }',
    /spec\.containers\.0\.volumeMounts\.0: lies in a folder/,
  ],
  [
    'spec: { containers: [{ name: sandbox, resources: { limits: { memory: 99Gi } } }] }',
    /resources\.limits: may not name memory/,
  ],
  ['metadata: { labels: { runyard.dev/run: x } }', /metadata\.labels: may not begin/],
  ['spec: [', /neither YAML nor JSON/],
] as const)
  test(`a template with ${text} is refused, naming the field`, () => {
    assert.throws(() => parsePodTemplate(text, 'pod.yaml'), { name: 'SandboxFault', message: says })
  })

test('a closed network lets nothing in or out, an open one nothing in and not to the machine’s own addresses', () => {
  const spec = (egress: 'none' | 'open') => makePolicy('installation', egress).spec
  assert.deepEqual([spec('none').ingress, spec('none').egress], [[], []])
  assert.deepEqual(spec('none').policyTypes, ['Ingress', 'Egress'])
  assert.deepEqual(spec('open').ingress, [])
  assert.match(JSON.stringify(spec('open').egress), /"except":\["169\.254\.0\.0\/16"\]/)
})
