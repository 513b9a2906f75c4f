import type { Metadata } from './kubernetes-api.ts'
import { KubernetesError, statusOf } from './kubernetes-api.ts'
import { NO_PROBE, OPEN_NETWORK } from './kubernetes-scripts.ts'
import { SandboxFault, SandboxImageError } from './sandbox.ts'

interface Ended {
  exitCode?: number
  reason?: string
  message?: string
}

export interface ContainerStatus {
  name: string
  imageID?: string
  restartCount?: number
  state?: {
    running?: { startedAt?: string }
    waiting?: { reason?: string; message?: string }
    terminated?: Ended
  }
  lastState?: { terminated?: Ended }
}

/** What is read of a Pod. */
export interface Pod {
  metadata: Metadata
  spec?: { nodeName?: string }
  status?: {
    phase?: string
    reason?: string
    message?: string
    conditions?: Array<{ type: string; status: string; reason?: string; message?: string }>
    containerStatuses?: ContainerStatus[]
    initContainerStatuses?: ContainerStatus[]
  }
}

/** Names of the sandbox's containers. */
export const SANDBOX_CONTAINER = 'sandbox'
export const PREPARE_CONTAINER = 'prepare'

/** Waiting does not help: the image's name, or what its registry said more than once. */
const NO_IMAGE = new Set(['ImagePullBackOff', 'InvalidImageName', 'ErrImageNeverPull', 'RegistryUnavailable'])
const NO_CONTAINER = new Set(['CreateContainerConfigError', 'CreateContainerError', 'RunContainerError'])

/**
 * How a Pod stands that is to run: `running`, or `waiting` and for what, or `failed` and why, in sentences for whoever reads the run.
 * `image`: it is the image's fault, and the sentence goes on from its name.
 */
export type PodState =
  | { is: 'running' }
  | { is: 'waiting'; says: string }
  | { is: 'failed'; says: string; image?: true }

export function describePod(pod: Pod | null): PodState {
  if (pod === null) return failed('its Pod was deleted')
  const { status = {}, metadata } = pod
  if (status.reason === 'Evicted')
    return failed(`its Pod was evicted: ${status.message ?? 'its node ran short'}`)
  if (status.reason === 'NodeLost' || isNodeSilent(pod))
    return failed(`its node ${pod.spec?.nodeName ?? ''} does not answer any more`.replace('  ', ' '))
  if (metadata.deletionTimestamp !== undefined) return failed('its Pod is being deleted')
  const own = status.containerStatuses?.find(({ name }) => name === SANDBOX_CONTAINER)
  const killed = own?.state?.terminated ?? own?.lastState?.terminated
  if (status.phase === 'Failed' || status.phase === 'Succeeded')
    return failed(`its Pod ended: ${status.message ?? status.reason ?? endOf(killed)}`)
  if (own?.state?.running) return { is: 'running' }
  return describeStart(status, own, killed)
}

/** Of a Pod whose container does not run. */
function describeStart(
  status: NonNullable<Pod['status']>,
  own: ContainerStatus | undefined,
  killed: Ended | undefined,
): PodState {
  const first = status.initContainerStatuses?.find(({ name }) => name === PREPARE_CONTAINER)
  const broken = first?.state?.terminated ?? first?.lastState?.terminated
  if (broken && broken.exitCode !== 0) return failed(explainPrepare(broken))
  const waiting = [first, own].flatMap((each) => each?.state?.waiting ?? [])
  for (const { reason = '', message = '' } of waiting) {
    if (NO_IMAGE.has(reason)) return { ...failed(`cannot be pulled: ${message || reason}`), image: true }
    if (NO_CONTAINER.has(reason)) return failed(`the node could not make its container: ${message || reason}`)
    if (reason === 'CrashLoopBackOff') return failed(`its container ended: ${endOf(killed)}`)
  }
  const scheduled = status.conditions?.find(({ type }) => type === 'PodScheduled')
  if (scheduled?.status === 'False')
    return {
      is: 'waiting',
      says: `no node takes its Pod: ${scheduled.message ?? scheduled.reason ?? 'unknown'}`,
    }
  const pull = waiting.find(({ reason }) => reason === 'ErrImagePull')
  if (pull) return { is: 'waiting', says: `the image cannot be pulled: ${pull.message ?? ''}` }
  return { is: 'waiting', says: 'its container has not started' }
}

/** Whether all was killed for memory at once, as control groups of version 2 do it. */
export function wasOverMemory(pod: Pod): boolean {
  const own = pod.status?.containerStatuses?.find(({ name }) => name === SANDBOX_CONTAINER)
  return [own?.state?.terminated, own?.lastState?.terminated].some((end) => end?.reason === 'OOMKilled')
}

/** The digest of the image that it runs, where the kubelet tells it. */
export function digestOf(pod: Pod): string | undefined {
  const own = pod.status?.containerStatuses?.find(({ name }) => name === SANDBOX_CONTAINER)
  return /sha256:[0-9a-f]{64}/.exec(own?.imageID ?? '')?.[0]
}

/** Why the API server refused to make something, in a sentence. */
export function explainRefusal(what: string, error: unknown): SandboxFault {
  if (error instanceof SandboxFault) return error
  const said = error instanceof Error ? error.message : String(error)
  if (statusOf(error) === 0)
    return new SandboxFault('The API server of the Kubernetes cluster does not answer', { cause: error })
  const { status, reason } = error instanceof KubernetesError ? error : { status: 0, reason: '' }
  if (status === 401)
    return new SandboxFault('The API server of the Kubernetes cluster does not accept these credentials', {
      cause: error,
    })
  if (/exceeded quota/.test(said)) return new SandboxFault(`The namespace's quota leaves no room: ${said}`)
  if (/violates PodSecurity/.test(said))
    return new SandboxFault(`The namespace's Pod Security does not admit it: ${said}`)
  if (/admission webhook/.test(said)) return new SandboxFault(`The cluster's admission refused it: ${said}`)
  if (/cannot \w+ resource/.test(said))
    return new SandboxFault(`The service account's Role does not allow it to ${what}: ${said}`)
  return new SandboxFault(`The API server refused to ${what}: ${said || reason || status}`)
}

/** The fault that a failed Pod is for its caller. `image`: the one its spec names. */
export function toPodFault(state: { says: string; image?: true }, image: string | undefined): Error {
  if (state.image && image !== undefined) return new SandboxImageError(state.says)
  if (state.image) return new SandboxFault(`the default image ${state.says}`)
  return new SandboxFault(`The sandbox failed: ${state.says}`)
}

const failed = (says: string) => ({ is: 'failed' as const, says })

const isNodeSilent = ({ status, metadata }: Pod): boolean =>
  metadata.deletionTimestamp !== undefined &&
  (status?.conditions ?? []).some(({ type, reason }) => type === 'Ready' && reason === 'NodeStatusUnknown')

function endOf(end: Ended | undefined): string {
  if (end?.reason === 'OOMKilled') return 'it was over its memory limit (OOMKilled)'
  if (end?.exitCode === undefined) return 'no reason was given'
  return [end.reason ?? 'ended', `exit code ${end.exitCode}`, end.message].filter(Boolean).join(', ')
}

function explainPrepare(end: Ended): string {
  const said = end.message?.trim()
  if (end.exitCode === OPEN_NETWORK)
    return `${said ?? 'its Pod reaches what it must not'}: the cluster's network plugin enforces no NetworkPolicy, or takes too long`
  if (end.exitCode === NO_PROBE) return said ?? 'nothing in the image can show that its network is closed'
  return `the step that prepares its Pod failed: ${endOf(end)}`
}
