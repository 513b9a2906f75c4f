import { createHash } from 'node:crypto'
import { HOME, USER_NAME } from './docker-accounts.ts'
import { userOf } from './docker-users.ts'
import { GUARD, PREPARE_SCRIPT, STAY_SCRIPT } from './kubernetes-scripts.ts'
import { PREPARE_CONTAINER, SANDBOX_CONTAINER } from './kubernetes-states.ts'
import type { PodTemplate } from './kubernetes-template.ts'
import type { SandboxKind, SandboxLimits, SandboxRef } from './sandbox.ts'

/** A Pod's labels and annotations, by which it is found again. A run's id may be no label, so that is a digest of it. */
export const MARKS = {
  installation: 'runyard.dev/installation',
  run: 'runyard.dev/run',
  egress: 'runyard.dev/egress',
  run_id: 'runyard.dev/run-id',
  attempt: 'runyard.dev/attempt',
} as const

const DATA = '/runyard-data'
/** Seconds until the policies of the network must hold for a new Pod. */
const CLOSED_SECONDS = 20
/** Requested of what is the limit: most sandboxes wait for a model most of their time. */
const REQUESTED = { cpus: 0.1, memory: 0.25 } as const
/** A Pod that holds more than its worker lets it, by so much, is evicted by its node. */
const DISK_FACTOR = 2

export interface PodParts {
  ref: SandboxRef
  /** Whoever starts commands in it knows this. */
  owner: string
  kind: SandboxKind
  image: string
  installation_id: string
  template: PodTemplate
}

/** Not the run's own name, which may hold what a label must not. */
export const markOfRun = (run_id: string): string =>
  createHash('sha256').update(run_id).digest('hex').slice(0, 32)

/** The Pod of a sandbox: what Pod Security calls `restricted`, merged with what the operator says of all. */
export function makePod({ ref, owner, kind, image, installation_id, template }: PodParts): object {
  const { spec: own = {}, metadata = {} } = template
  const [container] = own.containers ?? []
  const user = own.securityContext?.runAsUser ?? userOf(ref.id, { is_wide: true })
  const may_pull = kind.image === undefined || kind.pull === true
  const { containers: _, volumes = [], securityContext, ...rest } = own
  const shared = {
    image,
    imagePullPolicy: may_pull ? (container?.imagePullPolicy ?? 'IfNotPresent') : 'Never',
    workingDir: '/',
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
    resources: mergeResources(resourcesOf(kind.limits), container?.resources),
  }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: ref.id,
      labels: {
        ...metadata.labels,
        'app.kubernetes.io/managed-by': 'runyard',
        [MARKS.installation]: installation_id,
        [MARKS.run]: markOfRun(ref.run_id),
        [MARKS.egress]: kind.egress,
      },
      annotations: {
        ...metadata.annotations,
        [MARKS.run_id]: ref.run_id,
        [MARKS.attempt]: String(ref.attempt),
      },
    },
    spec: {
      ...rest,
      restartPolicy: 'Always',
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      terminationGracePeriodSeconds: 1,
      hostname: 'sandbox',
      securityContext: {
        runAsGroup: user,
        seccompProfile: { type: 'RuntimeDefault' },
        ...securityContext,
        runAsUser: user,
        runAsNonRoot: true,
      },
      volumes: [...volumes, { name: 'runyard-data', emptyDir: {} }, { name: 'runyard-tmp', emptyDir: {} }],
      initContainers: [
        {
          ...shared,
          name: PREPARE_CONTAINER,
          command: ['/bin/sh', '-c', PREPARE_SCRIPT, 'sh'],
          args: [
            ...[DATA, String(user), `${ref.attempt} ${owner}`, (kind.folders ?? []).join(' ')],
            ...[kind.egress, String(CLOSED_SECONDS)],
          ],
          volumeMounts: [
            { name: 'runyard-data', mountPath: DATA },
            { name: 'runyard-tmp', mountPath: '/tmp' },
          ],
        },
      ],
      containers: [
        {
          ...shared,
          name: SANDBOX_CONTAINER,
          command: ['/bin/sh', '-c', STAY_SCRIPT],
          // Nothing is ever written there: reading it is how the first process waits.
          stdin: true,
          env: [
            ...[
              { name: 'HOME', value: HOME },
              { name: 'USER', value: USER_NAME },
              { name: 'LOGNAME', value: USER_NAME },
              { name: 'LANG', value: 'C.UTF-8' },
              { name: 'TERM', value: 'dumb' },
              { name: 'RUNYARD_SANDBOX', value: ref.id },
            ],
            ...(container?.env ?? []),
          ],
          volumeMounts: [
            { name: 'runyard-data', mountPath: '/workspace', subPath: 'workspace' },
            { name: 'runyard-data', mountPath: HOME, subPath: 'home' },
            { name: 'runyard-data', mountPath: GUARD, subPath: 'guard' },
            { name: 'runyard-data', mountPath: '/etc/passwd', subPath: 'accounts/passwd', readOnly: true },
            { name: 'runyard-data', mountPath: '/etc/group', subPath: 'accounts/group', readOnly: true },
            { name: 'runyard-tmp', mountPath: '/tmp' },
            ...(container?.volumeMounts ?? []),
          ],
        },
      ],
    },
  }
}

interface Resources {
  requests?: Record<string, string | number> | undefined
  limits?: Record<string, string | number> | undefined
}

function resourcesOf({ memory_bytes, cpus, disk_bytes }: SandboxLimits): Required<Resources> {
  return {
    requests: {
      cpu: `${Math.max(1, Math.round(cpus * 1_000 * REQUESTED.cpus))}m`,
      memory: String(Math.round(memory_bytes * REQUESTED.memory)),
      'ephemeral-storage': '0',
    },
    limits: {
      cpu: `${Math.max(1, Math.round(cpus * 1_000))}m`,
      memory: String(memory_bytes),
      'ephemeral-storage': String(disk_bytes * DISK_FACTOR),
    },
  }
}

/** An operator may request more or less, and limit more kinds; memory and CPU are the run's. */
function mergeResources(ours: Required<Resources>, theirs: Resources = {}): Resources {
  return {
    requests: { ...ours.requests, ...theirs.requests },
    limits: { ...ours.limits, ...theirs.limits },
  }
}
