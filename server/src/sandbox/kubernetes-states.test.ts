import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KubernetesError } from './kubernetes-api.ts'
import { readStatus } from './kubernetes-exec.ts'
import { describePod, explainRefusal, type Pod, toPodFault, wasOverMemory } from './kubernetes-states.ts'

const pod = (status: NonNullable<Pod['status']>, metadata = {}): Pod => ({
  metadata: { name: 'runyard-1', ...metadata },
  spec: { nodeName: 'node-7' },
  status,
})
const waiting = (reason: string, message = '') => ({
  name: 'sandbox',
  state: { waiting: { reason, message } },
})

test('a Pod that waits says for what, with the scheduler’s own reason', () => {
  const unschedulable = pod({
    phase: 'Pending',
    conditions: [
      {
        type: 'PodScheduled',
        status: 'False',
        reason: 'Unschedulable',
        message: '0/3 nodes are available: 3 Insufficient cpu.',
      },
    ],
  })
  assert.deepEqual(describePod(unschedulable), {
    is: 'waiting',
    says: 'no node takes its Pod: 0/3 nodes are available: 3 Insufficient cpu.',
  })
  const pulling = pod({ phase: 'Pending', containerStatuses: [waiting('ErrImagePull', 'not found')] })
  assert.deepEqual(describePod(pulling), { is: 'waiting', says: 'the image cannot be pulled: not found' })
  assert.equal(describePod(pod({ phase: 'Pending' })).is, 'waiting')
})

test('a Pod that failed says why', () => {
  for (const [state, says] of [
    [
      pod({ phase: 'Failed', reason: 'Evicted', message: 'The node was low on memory.' }),
      /evicted: The node was low/,
    ],
    [
      pod(
        { phase: 'Running', conditions: [{ type: 'Ready', status: 'Unknown', reason: 'NodeStatusUnknown' }] },
        { deletionTimestamp: '2026-01-01T00:00:00Z' },
      ),
      /its node node-7 does not answer/,
    ],
    [pod({ phase: 'Running' }, { deletionTimestamp: '2026-01-01T00:00:00Z' }), /being deleted/],
    [
      pod({
        phase: 'Running',
        containerStatuses: [
          {
            ...waiting('CrashLoopBackOff'),
            lastState: { terminated: { exitCode: 137, reason: 'OOMKilled' } },
          },
        ],
      }),
      /over its memory limit \(OOMKilled\)/,
    ],
    [
      pod({ phase: 'Pending', containerStatuses: [waiting('CreateContainerConfigError', 'no secret x')] }),
      /no secret x/,
    ],
    [
      pod({
        phase: 'Pending',
        initContainerStatuses: [
          {
            name: 'prepare',
            state: { terminated: { exitCode: 90, message: 'The Pod still reached 10.0.0.1:443\n' } },
          },
        ],
      }),
      /still reached 10\.0\.0\.1:443: the cluster's network plugin enforces no NetworkPolicy/,
    ],
    [null, /was deleted/],
  ] as const) {
    const told = describePod(state)
    assert.equal(told.is, 'failed')
    assert.match(told.is === 'failed' ? told.says : '', says)
  }
})

test('an image that cannot be pulled is its caller’s where the caller named it', () => {
  const state = describePod(
    pod({
      phase: 'Pending',
      initContainerStatuses: [{ ...waiting('ImagePullBackOff', 'no such tag'), name: 'prepare' }],
    }),
  )
  assert.ok(state.is === 'failed')
  assert.equal(toPodFault(state, 'acme/tool:9').name, 'SandboxImageError')
  assert.equal(toPodFault(state, 'acme/tool:9').message, 'cannot be pulled: no such tag')
  assert.equal(toPodFault(state, undefined).message, 'the default image cannot be pulled: no such tag')
})

test('a running container counts, whatever ended before', () => {
  const again = pod({
    phase: 'Running',
    containerStatuses: [
      {
        name: 'sandbox',
        restartCount: 1,
        state: { running: {} },
        lastState: { terminated: { exitCode: 137, reason: 'OOMKilled' } },
      },
    ],
  })
  assert.equal(describePod(again).is, 'running')
  assert.equal(wasOverMemory(again), true)
})

test('a refusal says what the cluster lacks', () => {
  const forbid = (message: string) =>
    explainRefusal('make Pods', new KubernetesError(403, 'Forbidden', message)).message
  assert.match(
    forbid('pods "x" is forbidden: exceeded quota: small, requested: pods=1'),
    /^The namespace's quota/,
  )
  assert.match(
    forbid('pods "x" is forbidden: violates PodSecurity "restricted:latest"'),
    /Pod Security does not admit/,
  )
  assert.match(
    forbid('pods is forbidden: User "u" cannot create resource "pods" in API group ""'),
    /^The service account's Role does not allow it to make Pods/,
  )
  assert.match(explainRefusal('make Pods', new Error('connect ECONNREFUSED')).message, /does not answer/)
})

test('how a process ended is read from its status, a missing program too', () => {
  const code = (message: string) => ({
    status: 'Failure',
    reason: 'NonZeroExitCode',
    details: { causes: [{ reason: 'ExitCode', message }] },
  })
  assert.deepEqual(readStatus({ status: 'Success' }), { code: 0, signal: null })
  assert.deepEqual(readStatus(code('3')), { code: 3, signal: null })
  assert.deepEqual(readStatus(code('137')), { code: null, signal: 'SIGKILL' })
  assert.throws(() => readStatus(null), { name: 'SandboxFault', message: /connection to the Pod broke/ })
  const missing = 'exec: "/bin/sh": stat /bin/sh: no such file or directory: unknown'
  assert.throws(() => readStatus({ status: 'Failure', reason: 'InternalError', message: missing }), {
    name: 'SandboxFault',
    message: /has no \/bin\/sh/,
  })
})
