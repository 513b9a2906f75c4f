import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { DEFAULT_IMAGE } from './default-image.ts'
import { measureInside } from './disk-usage.ts'
import { HOME } from './docker-accounts.ts'
import { makeFileOperations } from './file-operations.ts'
import { readClusterAccess } from './kubernetes-access.ts'
import { clusterFault, ifThere, KubernetesApi, statusOf } from './kubernetes-api.ts'
import { claimPod, freezePod, KubernetesContainer, thawPod } from './kubernetes-container.ts'
import { requirePolicies, tagOf } from './kubernetes-network.ts'
import { MARKS, makePod, markOfRun } from './kubernetes-pod.ts'
import { findMissingRights } from './kubernetes-preflight.ts'
import { describePod, digestOf, explainRefusal, type Pod, toPodFault } from './kubernetes-states.ts'
import { type PodTemplate, readPodTemplate } from './kubernetes-template.ts'
import { limitVariables, MemoryKills } from './memory-kills.ts'
import {
  collectExec,
  DEFAULT_LIMITS,
  requireEgress,
  type Sandbox,
  type SandboxBackend,
  type SandboxCapabilities,
  SandboxFault,
  SandboxImageError,
  type SandboxInfo,
  type SandboxKind,
  type SandboxRef,
  type SandboxSpec,
  type WarmSandbox,
  type WarmSpec,
  type Weakness,
} from './sandbox.ts'

/** A Pod that does not run by then is given up: a cluster may take minutes to add a node, or to pull an image. */
const START_LIMIT_MS = 5 * 60_000
const TRIAL_MS = 30_000
/** Between two looks at a Pod that starts: at first, and once it takes long. */
const LOOK_MS = { first: 20, most: 500 } as const
const DELETE_NOW = { gracePeriodSeconds: 0, propagationPolicy: 'Background' }
const COUNTED_BY_USER: Weakness = {
  says: 'processes, which Kubernetes counts for a whole Pod only by its kubelet’s podPidsLimit: commands have a limit for their user instead',
  fix: 'Set podPidsLimit in the configuration of the kubelets as well.',
}

/** Which cluster, and what its Pods are made of. */
export interface KubernetesPlace {
  kubeconfig?: string
  /** Absent: the one that the kubeconfig's context or the service account names. */
  namespace?: string
  /** A file with what is said of every Pod. */
  pod_template?: string
  start_limit_ms?: number
}

export interface KubernetesOptions extends KubernetesPlace {
  installation_id: string
  /** Used when a spec names no image. */
  default_image?: string
  /** Whether a sandbox is made and removed, which shows what the cluster lacks; default: yes. */
  trial?: boolean
}

/**
 * Opens the backend on the cluster of the kubeconfig, or of the Pod that this process runs in. A sandbox is a Pod, whose volumes
 * live as long as it does; an attempt takes it over by its annotation and by a secret that all processes started later must know.
 * Throws `SandboxFault` when the API server does not answer, or does not allow what is needed.
 */
export async function openKubernetes(options: KubernetesOptions): Promise<SandboxBackend> {
  const { installation_id, kubeconfig, namespace, trial = true } = options
  const template = options.pod_template === undefined ? {} : await readPodTemplate(options.pod_template)
  const access = await readClusterAccess(kubeconfig)
  const api = new KubernetesApi(access, namespace ?? access.namespace ?? 'default')
  const backend = new KubernetesBackend(api, options, template)
  if (!trial) return backend
  const missing = await findMissingRights(api).catch((error) => {
    throw explainRefusal('say what it allows', error)
  })
  if (missing.length > 0) throw new SandboxFault(`${missing.join('. ')}. docs/kubernetes.md has the Role`)
  await requirePolicies(api, installation_id).catch((error) => {
    throw explainRefusal('make the NetworkPolicies of sandboxes', error)
  })
  await backend.tryOut()
  return backend
}

class KubernetesBackend implements SandboxBackend {
  readonly name = 'kubernetes'
  readonly capabilities: SandboxCapabilities = {
    isolation: 'container',
    pause: true,
    limits: 'hard',
    disk_quota: false,
    egress: ['none', 'open'],
    background_processes: true,
  }
  readonly weaknesses: readonly Weakness[] = [COUNTED_BY_USER]
  readonly place: string
  readonly default_image: string
  readonly description: string
  readonly #api: KubernetesApi
  readonly #options: KubernetesOptions
  readonly #template: PodTemplate
  readonly #tag: string

  constructor(api: KubernetesApi, options: KubernetesOptions, template: PodTemplate) {
    this.#api = api
    this.#options = options
    this.#template = template
    this.#tag = tagOf(options.installation_id)
    this.default_image = options.default_image ?? DEFAULT_IMAGE
    this.place = `kubernetes:${api.access.cluster}/${api.namespace}`
    this.description = [
      `kubernetes: a Pod per run in namespace ${api.namespace}, as Pod Security calls restricted (${template.spec?.runtimeClassName ?? 'default runtime'})`,
      'memory and CPU limited by the kubelet, processes by user',
      'networks by NetworkPolicy, shown to hold before the first command of a Pod',
      'no lists of allowed hosts',
      'no disk quota',
    ].join('; ')
  }

  /** Makes a sandbox with a closed network and runs a command in it. Throws `SandboxFault` saying what the cluster lacks. */
  async tryOut(): Promise<void> {
    const spec = { run_id: `trial-${randomUUID()}`, attempt: 1, limits: DEFAULT_LIMITS, env: {} }
    const sandbox = await this.create({ ...spec, egress: 'none' })
    try {
      const { exit, stderr } = await collectExec(sandbox.exec({ command: 'true', timeout_ms: TRIAL_MS }))
      if (exit.code !== 0)
        throw new SandboxFault(`A trial command in a Pod ended with ${exit.code ?? exit.signal}: ${stderr}`)
    } finally {
      await sandbox.destroy()
    }
  }

  async create(spec: SandboxSpec): Promise<Sandbox> {
    requireEgress(this, spec)
    for (const { ref } of await this.#find({ run_id: spec.run_id })) {
      if (ref.attempt >= spec.attempt)
        throw new SandboxFault(`Run ${spec.run_id} already has a sandbox of attempt ${ref.attempt}`)
      await this.destroy(ref)
    }
    const { ref, pod, inside } = await this.#make(spec.run_id, spec.attempt, spec)
    return this.#present(ref, spec, pod, inside)
  }

  async createWarm(run_id: string, made: WarmSpec): Promise<WarmSandbox> {
    requireEgress(this, made)
    const { ref, inside } = await this.#make(run_id, 0, made)
    let is_taken = false
    return {
      ref,
      adopt: async (spec) => {
        requireEgress(this, spec)
        if (is_taken) return null
        is_taken = true
        const pod = await ifThere(this.#mark(ref.id, spec.attempt)).catch((error) => {
          throw clusterFault('the API server could not give the Pod to the run', error)
        })
        if (!pod || describePod(pod).is !== 'running') return null
        return this.#present({ ...ref, attempt: spec.attempt }, spec, pod, inside)
      },
      destroy: () => {
        inside.close()
        return this.destroy(ref)
      },
    }
  }

  async attach(spec: SandboxSpec): Promise<Sandbox | null> {
    requireEgress(this, spec)
    for (;;) {
      const [latest] = await this.#find({ run_id: spec.run_id })
      if (!latest || latest.ref.attempt > spec.attempt) return null
      const ref = { ...latest.ref, attempt: spec.attempt }
      const state = describePod(latest.pod)
      if (state.is === 'failed') {
        // Its volumes went with it.
        await this.destroy(latest.ref)
        return null
      }
      try {
        await this.#mark(ref.id, spec.attempt, latest.pod.metadata.resourceVersion)
      } catch (error) {
        // Somebody changed it since, another attempt perhaps.
        if (statusOf(error) === 409) continue
        if (statusOf(error) === 404) return null
        throw clusterFault('the API server could not give the Pod to the attempt', error)
      }
      const pod = await this.#waitForPod(ref.id, spec)
      const owner = randomUUID()
      await claimPod(this.#api, ref.id, { attempt: spec.attempt, owner })
      const [now] = await this.#find({ run_id: spec.run_id })
      if (!now || now.ref.attempt > spec.attempt) return null
      return this.#present(ref, spec, pod, await this.#enter(ref, spec, owner))
    }
  }

  async list(): Promise<SandboxInfo[]> {
    return (await this.#find({})).map(({ ref, created_at }) => ({ ref, created_at }))
  }

  async freeze(ref: SandboxRef): Promise<void> {
    if (await this.#isRunning(ref)) await freezePod(this.#api, ref.id, ref.attempt)
  }

  async thaw(ref: SandboxRef): Promise<void> {
    if (await this.#isRunning(ref)) await thawPod(this.#api, ref.id, ref.attempt)
  }

  /** Nobody knows the secret of its owner from then on, until it is attached again. */
  async kill(ref: SandboxRef): Promise<void> {
    if (await this.#isRunning(ref))
      await claimPod(this.#api, ref.id, { attempt: ref.attempt, owner: `nobody-${randomUUID()}` })
  }

  async destroy(ref: SandboxRef): Promise<void> {
    const path = this.#api.path(`pods/${ref.id}`)
    for (;;) {
      try {
        const pod = await ifThere(this.#api.call<Pod>(path))
        if (!pod || attemptOf(pod) > ref.attempt) return
        const { uid, resourceVersion } = pod.metadata
        const body = { ...DELETE_NOW, preconditions: { uid, resourceVersion } }
        return void (await ifThere(this.#api.call(path, { method: 'DELETE', body })))
      } catch (error) {
        // It changed since; whose it is now is looked at again.
        if (statusOf(error) !== 409) throw clusterFault('the API server could not delete the Pod', error)
      }
    }
  }

  async #isRunning(ref: SandboxRef): Promise<boolean> {
    const pod = await ifThere(this.#api.call<Pod>(this.#api.path(`pods/${ref.id}`))).catch((error) => {
      throw clusterFault('the API server does not say how the Pod stands', error)
    })
    // Of one that has ended, nothing runs; one whose node is silent may run, and is not known to be stopped.
    return pod !== null && !['Failed', 'Succeeded'].includes(pod.status?.phase ?? '')
  }

  /** Makes the Pod and waits until it runs; nothing is left where that fails. */
  async #make(
    run_id: string,
    attempt: number,
    kind: SandboxKind,
  ): Promise<{ ref: SandboxRef; pod: Pod; inside: KubernetesContainer }> {
    if (kind.login)
      throw new SandboxImageError(
        `needs ${kind.login.name}, and this worker takes logins of registries from its pod template (imagePullSecrets)`,
      )
    const ref = {
      backend: this.name,
      id: `runyard-${this.#tag}-${markOfRun(run_id)}-${attempt}`,
      run_id,
      attempt,
    }
    const owner = randomUUID()
    const image = kind.image ?? this.default_image
    const { installation_id } = this.#options
    const template = this.#template
    const body = makePod({ ref, owner, kind, image, installation_id, template })
    await this.#api.call<Pod>(this.#api.path('pods'), { method: 'POST', body }).catch(async (error) => {
      // A call that was made again after its answer was lost.
      const own = statusOf(error) === 409 && (await this.#isOurs(ref, owner))
      if (!own) throw explainRefusal('make Pods', error)
    })
    try {
      const pod = await this.#waitForPod(ref.id, kind)
      return { ref, pod, inside: await this.#enter(ref, kind, owner) }
    } catch (error) {
      await this.destroy(ref).catch(() => {})
      throw error
    }
  }

  async #isOurs({ id }: SandboxRef, owner: string): Promise<boolean> {
    const pod = await ifThere(this.#api.call<Pod>(this.#api.path(`pods/${id}`)))
    return JSON.stringify(pod?.spec ?? {}).includes(owner)
  }

  async #waitForPod(name: string, kind: SandboxKind): Promise<Pod> {
    const limit_ms = this.#options.start_limit_ms ?? START_LIMIT_MS
    const deadline = performance.now() + limit_ms
    for (let pause_ms: number = LOOK_MS.first; ; pause_ms = Math.min(pause_ms * 1.2, LOOK_MS.most)) {
      const pod = await ifThere(this.#api.call<Pod>(this.#api.path(`pods/${name}`))).catch((error) => {
        throw clusterFault('the API server does not say how the Pod stands', error)
      })
      const state = describePod(pod)
      if (pod && state.is === 'running') return pod
      if (state.is === 'failed') throw toPodFault(state, kind.image)
      if (performance.now() > deadline)
        throw new SandboxFault(
          `The sandbox did not start within ${Math.round(limit_ms / 1_000)} s: ${state.is === 'waiting' ? state.says : ''}`,
        )
      await delay(pause_ms)
    }
  }

  async #enter(ref: SandboxRef, { limits }: SandboxKind, owner: string): Promise<KubernetesContainer> {
    const inside = new KubernetesContainer(this.#api, { pod: ref.id, owner, pids: limits.pids })
    await inside.prepare()
    return inside
  }

  /** Writes the attempt on the Pod; with `version` only if it has not changed since. */
  #mark(name: string, attempt: number, version?: string): Promise<Pod> {
    return this.#api.call<Pod>(this.#api.path(`pods/${name}`), {
      method: 'PATCH',
      type: 'application/merge-patch+json',
      body: {
        metadata: {
          annotations: { [MARKS.attempt]: String(attempt) },
          ...(version === undefined ? {} : { resourceVersion: version }),
        },
      },
    })
  }

  #present(ref: SandboxRef, spec: SandboxSpec, pod: Pod, inside: KubernetesContainer): Sandbox {
    const { limits } = spec
    const kills = new MemoryKills(() => inside.countMemoryKills())
    const variables = { ...limitVariables(limits), ...spec.env }
    const digest = digestOf(pod)
    return {
      ref,
      workspace: '/workspace',
      ...(digest === undefined ? {} : { image_digest: digest }),
      home: HOME,
      limits,
      exec: (options) => inside.exec(options, { ...variables, ...options.env }),
      takeMemoryKills: () => kills.take(),
      ...makeFileOperations((options) => inside.exec(options, {}), { import_bytes: limits.disk_bytes }),
      usage: (signal) =>
        measureInside(['/workspace', HOME, '/tmp'], (options) => inside.exec(options, {}), signal),
      hold: () => inside.hold(),
      killAll: () => inside.killAll(),
      destroy: () => {
        inside.close()
        return this.destroy(ref)
      },
    }
  }

  /** The latest attempt first; none that is about to go. */
  async #find(filter: { run_id?: string }): Promise<Array<SandboxInfo & { pod: Pod }>> {
    const labels = [`${MARKS.installation}=${this.#options.installation_id}`]
    if (filter.run_id !== undefined) labels.push(`${MARKS.run}=${markOfRun(filter.run_id)}`)
    const { items } = await this.#api
      .call<{ items: Pod[] }>(this.#api.path('pods'), { query: { labelSelector: labels.join(',') } })
      .catch((error) => {
        throw clusterFault('the API server does not list Pods', error)
      })
    return items
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map((pod) => ({
        pod,
        ref: {
          backend: this.name,
          id: pod.metadata.name,
          run_id: pod.metadata.annotations?.[MARKS.run_id] ?? '',
          attempt: attemptOf(pod),
        },
        created_at: Date.parse(pod.metadata.creationTimestamp ?? '') || 0,
      }))
      .sort((a, b) => b.ref.attempt - a.ref.attempt)
  }
}

const attemptOf = (pod: Pod): number => Number(pod.metadata.annotations?.[MARKS.attempt] ?? 0)
