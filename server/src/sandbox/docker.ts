import { createHash } from 'node:crypto'
import type Docker from 'dockerode'
import { DEFAULT_IMAGE } from './default-image.ts'
import { HOME } from './docker-accounts.ts'
import { DockerContainer } from './docker-container.ts'
import { freezeContainer, removeContainer, stopContainer, thawContainer } from './docker-control.ts'
import {
  ANSWER_LIMIT_MS,
  connectEngine,
  engineFault,
  ignoreStatus,
  messageOf,
  readState,
  statusOf,
} from './docker-engine.ts'
import { inspectImage, requireImage, type SandboxImage } from './docker-image.ts'
import { ImageRights } from './docker-image-rights.ts'
import { LABELS, LOOK } from './docker-labels.ts'
import { containerName, DockerMaker, PARTS } from './docker-maker.ts'
import { limitSockets, limitsSockets } from './docker-sockets.ts'
import { DockerUplinks } from './docker-uplinks.ts'
import { describeEngine, type EngineFacts, measureVolumes } from './docker-usage.ts'
import { SHARED_USER } from './docker-users.ts'
import { makeFileOperations } from './file-operations.ts'
import { limitVariables, MemoryKills } from './memory-kills.ts'
import { PROXY_ENV } from './proxy-uplink.ts'
import {
  type ExecHandle,
  type ExecOptions,
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

const PULL_LIMIT_MS = 10 * 60_000
const UNCOUNTED_SOCKETS: Weakness = {
  says: 'buffers of sockets, which control groups of version 1 do not count as memory',
  fix: 'Run the worker as root beside its engine, or boot the engine’s machine with control groups of version 2 (systemd.unified_cgroup_hierarchy=1).',
}
/** Who looks at an image is done long before, or was killed. */
const LOOK_MS = 10 * 60_000

export interface DockerOptions {
  installation_id: string
  /** Used when a spec names no image. */
  default_image?: string
  /**
   * Given: opening fails unless the default image is there or is pulled within so many milliseconds. Absent: the image
   * is first looked for when a sandbox is made.
   */
  pull_limit_ms?: number
  /** Told before an image is pulled, which may take minutes. */
  onPull?: (image: string) => void
  /** A runtime configured in the engine, such as `runsc`; absent: the engine's default. */
  runtime?: string
  /** A call during which the engine says nothing for so long fails; absent: none does. */
  silence_limit_ms?: number
  /** The folder of this machine that is offered read-only to all sandboxes at `TOOLS_PLACE`; looked for whenever one is made. */
  findTools?: () => string | undefined
}

/**
 * Opens the Docker backend on the engine `DOCKER_HOST` names, else on the local socket. A sandbox is three labelled
 * volumes, the workspace, the home directory and a program of ours, and a container for each attempt: making the container of an attempt
 * is what takes the volumes over. Throws `SandboxFault` when no engine
 * answers, or it does not have the runtime.
 */
export async function openDocker(options: DockerOptions): Promise<SandboxBackend> {
  const { silence_limit_ms } = options
  let docker: Docker
  let engine: EngineFacts
  try {
    docker = await connectEngine(silence_limit_ms === undefined ? {} : { timeout: silence_limit_ms })
    const asked = await connectEngine({ timeout: ANSWER_LIMIT_MS })
    await asked.ping()
    engine = await describeEngine(asked, options.runtime)
  } catch (error) {
    if (error instanceof SandboxFault) throw error
    throw new SandboxFault(`no Docker engine answers: ${messageOf(error)}`)
  }
  if (options.pull_limit_ms !== undefined) {
    const image = options.default_image ?? DEFAULT_IMAGE
    const { pull_limit_ms, onPull } = options
    const { installation_id } = options
    await requireImage(docker, image, { installation_id, pull_limit_ms, onPull }).catch((error) => {
      // Told to the operator, who gave the name; so it may say why.
      const why = error.cause ? `: ${messageOf(error.cause)}` : ''
      throw new SandboxFault(`the image ${image} ${error.message}${why}`, { cause: error })
    })
  }
  return new DockerBackend(docker, options, engine)
}

class DockerBackend implements SandboxBackend {
  readonly name = 'docker'
  readonly capabilities: SandboxCapabilities
  readonly description: string
  readonly weaknesses: readonly Weakness[]
  readonly place: string
  readonly default_image: string
  readonly storage?: string
  readonly program_folders?: readonly string[]
  readonly #docker: Docker
  readonly #options: DockerOptions
  readonly #maker: DockerMaker
  readonly #rights: ImageRights
  /** Tells installations on one engine apart in names. */
  readonly #tag: string
  readonly #uplinks = DockerUplinks.find()

  constructor(docker: Docker, options: DockerOptions, engine: EngineFacts) {
    this.place = engine.place
    this.default_image = options.default_image ?? DEFAULT_IMAGE
    if (engine.storage !== undefined) this.storage = engine.storage
    if (this.default_image === DEFAULT_IMAGE) this.program_folders = []
    this.#docker = docker
    this.#options = options
    this.#maker = new DockerMaker(docker, { ...options, ...engine })
    this.#rights = new ImageRights(docker)
    this.#tag = createHash('sha256').update(options.installation_id).digest('hex').slice(0, 12)
    this.capabilities = {
      isolation: 'container',
      pause: true,
      limits: 'hard',
      disk_quota: false,
      egress: this.#uplinks ? ['none', 'allowlist', 'open'] : ['none', 'open'],
      background_processes: true,
    }
    this.weaknesses = limitsSockets() ? [] : [UNCOUNTED_SOCKETS]
    this.description = [
      `docker: a container per run without capabilities (${options.runtime === undefined ? 'default runtime' : `runtime ${options.runtime}`})`,
      'memory, processes and CPU limited',
      ...this.weaknesses.map(({ says }) => `not limited: ${says}`),
      this.#uplinks
        ? 'allowed hosts only by a proxy'
        : 'no lists of allowed hosts (that takes root beside its engine, with socat and util-linux)',
      'no disk quota',
    ].join('; ')
  }

  async hasImage(image: string): Promise<boolean> {
    return (await inspectImage(this.#docker, image)) !== null
  }

  async create(spec: SandboxSpec): Promise<Sandbox> {
    requireEgress(this, spec)
    const image = await this.#requireImage(spec, this.#rights)
    for (const { ref } of await this.#find({ run_id: spec.run_id })) {
      if (ref.attempt >= spec.attempt)
        throw new SandboxFault(`Run ${spec.run_id} already has a sandbox of attempt ${ref.attempt}`)
      await this.destroy(ref)
    }
    const id = `runyard-${this.#tag}-${nameOfRun(spec.run_id)}-${spec.attempt}`
    const ref = { backend: this.name, id, run_id: spec.run_id, attempt: spec.attempt }
    return this.#make(ref, spec, image, (container) =>
      this.#open(ref, spec, { container, image, user: this.#maker.userOf(ref) }),
    )
  }

  async createWarm(run_id: string, made: WarmSpec): Promise<WarmSandbox> {
    requireEgress(this, made)
    const image = await this.#requireImage(made)
    const id = `runyard-${this.#tag}-${nameOfRun(run_id)}-0`
    const ref = { backend: this.name, id, run_id, attempt: 0 }
    const { container, inside } = await this.#make(ref, made, image, async (container) => ({
      container,
      inside: await this.#enter(ref, made, { container, user: this.#maker.userOf(ref) }),
    }))
    let is_taken = false
    return {
      ref,
      adopt: async (spec) => {
        requireEgress(this, spec)
        if (is_taken) return null
        is_taken = true
        const looked = container.inspect().catch((error) => {
          if (statusOf(error) !== 404) throw engineFault('the Docker engine lost the container', error)
          return { State: null }
        })
        const [current, { State }] = await Promise.all([this.#requireImage(spec, this.#rights), looked])
        // The name may mean another image by now, and a container that stopped with its engine can be renamed all the same.
        if (current.id !== image.id || !State?.Running) return null
        const adopted = { ...ref, attempt: spec.attempt }
        const renamed = await container.rename({ name: containerName(adopted) }).then(
          () => true,
          (error) => {
            if (![404, 409].includes(statusOf(error)))
              throw engineFault('the Docker engine could not rename the container', error)
            return false
          },
        )
        if (!renamed) return null
        if (spec.proxy && !this.#uplinks?.isOpen(container)) await this.#connect(container, spec)
        return this.#present(adopted, spec, container, image, inside)
      },
      destroy: () => {
        inside.close()
        return this.destroy(ref)
      },
    }
  }

  /** Makes volumes and container, and goes on with `use`; nothing is left where either fails. */
  async #make<Made>(
    ref: SandboxRef,
    kind: SandboxKind,
    image: SandboxImage,
    use: (container: Docker.Container) => Promise<Made>,
  ): Promise<Made> {
    try {
      return await use(await this.#makeContainer(ref, kind, image))
    } catch (error) {
      await this.destroy(ref).catch(() => {})
      throw engineFault('the Docker engine could not make the container', error)
    }
  }

  /** An engine may refuse to bind files by their paths, and an image may have links that make it fail: then no name is given. */
  async #makeContainer(ref: SandboxRef, kind: SandboxKind, image: SandboxImage): Promise<Docker.Container> {
    try {
      return await this.#maker.make(ref, kind, image, { named: true })
    } catch (error) {
      if (statusOf(error) === 0) throw error
      await this.destroy(ref)
      return await this.#maker.make(ref, kind, image, { named: false })
    }
  }

  async attach(spec: SandboxSpec): Promise<Sandbox | null> {
    requireEgress(this, spec)
    const [latest] = await this.#find({ run_id: spec.run_id })
    if (!latest || latest.ref.attempt > spec.attempt) return null
    const ref = { ...latest.ref, attempt: spec.attempt }
    const image = await this.#requireImage(spec)
    // The name is free or ours: whoever makes a container of the highest attempt owns the volumes.
    const container = await this.#maker.createContainer(ref, spec, image, latest).catch(async (error) => {
      if (statusOf(error) !== 409) throw engineFault('the Docker engine could not make the container', error)
      const own = this.#docker.getContainer(containerName(ref))
      await stopContainer(this.#docker, own)
      return own
    })
    const containers = await this.#containersOf(ref.id)
    const overtaken = containers.some((other) => other.attempt > spec.attempt)
    // Volumes removed in between are made anew by the engine, empty and without labels.
    const [still_there] = overtaken ? [] : await this.#find({ run_id: spec.run_id })
    if (!still_there) {
      await removeContainer(this.#docker, container)
      return null
    }
    for (const other of containers) if (other.attempt < spec.attempt) await this.#remove(other.name)
    try {
      await ignoreStatus([304], container.start())
    } catch (error) {
      // A later attempt may have removed it since: it owns the sandbox.
      const owners = await this.#containersOf(ref.id)
      if (owners.some((other) => other.attempt > spec.attempt)) return null
      throw engineFault('the Docker engine could not start the container', error)
    }
    return this.#open(ref, spec, { container, image, user: latest.user })
  }

  async list(): Promise<SandboxInfo[]> {
    return (await this.#find({})).map(({ ref, created_at }) => ({ ref, created_at }))
  }

  async removeLeftovers(now: number = Date.now()): Promise<number> {
    const label = [`${LABELS.installation}=${this.#options.installation_id}`, `${LABELS.part}=${LOOK}`]
    const looks = await this.#docker.listContainers({ all: true, filters: JSON.stringify({ label }) })
    const left = looks.filter(({ Created }) => now - Created * 1_000 > LOOK_MS)
    for (const { Id } of left) await this.#remove(Id)
    return left.length
  }

  async freeze(ref: SandboxRef): Promise<void> {
    const container = this.#docker.getContainer(containerName(ref))
    try {
      await freezeContainer(this.#docker, container)
    } catch (error) {
      // Gone, or frozen already: nothing of it runs. One that has stopped may be being started anew.
      const state = await readState(container)
      if (state && !state.Paused) throw engineFault('the Docker engine could not freeze the container', error)
    }
  }

  async thaw(ref: SandboxRef): Promise<void> {
    const container = this.#docker.getContainer(containerName(ref))
    try {
      await thawContainer(this.#docker, container)
    } catch (error) {
      // What is gone, stopped or not frozen needs no thaw.
      if ((await readState(container))?.Paused)
        throw engineFault('the Docker engine could not thaw the container', error)
    }
  }

  /** Stops the attempt's container: its owner can start nothing any more, a later attempt gets a new one. */
  async kill(ref: SandboxRef): Promise<void> {
    await stopContainer(this.#docker, this.#docker.getContainer(containerName(ref)))
  }

  async destroy(ref: SandboxRef): Promise<void> {
    const containers = await this.#containersOf(ref.id)
    if (containers.some((container) => container.attempt > ref.attempt)) return
    for (const { name } of containers) await this.#remove(name)
    // In use (409) means: a later attempt took it over since.
    for (const part of PARTS.toReversed())
      await ignoreStatus([404, 409], this.#docker.getVolume(`${ref.id}-${part}`).remove())
  }

  async #remove(name: string): Promise<void> {
    this.#uplinks?.close(name)
    await removeContainer(this.#docker, this.#docker.getContainer(name))
  }

  /** `rights`: the sandbox is to begin in it. Who goes on in one was asked before, and one made in advance is nobody's yet. */
  async #requireImage(spec: SandboxKind, rights?: ImageRights): Promise<SandboxImage> {
    const image = spec.image ?? this.default_image
    const pulls = spec.image === undefined || spec.pull
    const { onPull } = this.#options
    try {
      return await requireImage(this.#docker, image, {
        ...(pulls ? { pull_limit_ms: PULL_LIMIT_MS } : {}),
        installation_id: this.#options.installation_id,
        ...{ login: spec.login, rights: spec.image === undefined ? undefined : rights, onPull },
      })
    } catch (error) {
      if (spec.image !== undefined || !(error instanceof SandboxImageError)) throw error
      throw new SandboxFault(`the default image ${error.message}`, { cause: error.cause })
    }
  }

  async #open(
    ref: SandboxRef,
    spec: SandboxSpec,
    made: { container: Docker.Container; image: SandboxImage; user: number },
  ): Promise<Sandbox> {
    const { container, image } = made
    return this.#present(ref, spec, container, image, await this.#enter(ref, spec, made))
  }

  /** `ref` names the container by which it was made. */
  async #enter(
    ref: SandboxRef,
    spec: WarmSpec,
    { container, user }: { container: Docker.Container; user: number },
  ): Promise<DockerContainer> {
    const program = this.#maker.programOf(ref)
    const connect = async () => {
      await limitSockets(container, spec.limits.memory_bytes)
      await this.#connect(container, spec)
    }
    const inside = new DockerContainer(this.#docker, container, { program, user, onRestart: connect })
    const prepared = inside.prepare()
    try {
      await connect()
    } finally {
      await prepared
    }
    return inside
  }

  async #connect(container: Docker.Container, { proxy }: WarmSpec): Promise<void> {
    if (proxy) await this.#uplinks?.connect(container, proxy)
  }

  #present(
    ref: SandboxRef,
    spec: SandboxSpec,
    container: Docker.Container,
    image: SandboxImage,
    inside: DockerContainer,
  ): Sandbox {
    const exec = (options: ExecOptions, env: Record<string, string>): ExecHandle => inside.exec(options, env)
    const { limits } = spec
    const kills = new MemoryKills(() => inside.countMemoryKills())
    const variables = { ...(spec.proxy ? PROXY_ENV : {}), ...limitVariables(limits), ...spec.env }
    return {
      ref,
      workspace: '/workspace',
      image_digest: image.digest,
      home: HOME,
      limits,
      exec: (options) => exec(options, { ...variables, ...options.env }),
      takeMemoryKills: () => kills.take(),
      ...makeFileOperations((options) => exec(options, {}), { import_bytes: spec.limits.disk_bytes }),
      usage: (signal) =>
        measureVolumes({
          docker: this.#docker,
          container,
          volumes: new Map([
            [`${ref.id}-workspace`, '/workspace'],
            [`${ref.id}-home`, HOME],
          ]),
          exec: (options) => exec(options, {}),
          ...(signal ? { signal } : {}),
        }),
      hold: () => inside.hold(),
      killAll: () => inside.killAll(),
      destroy: () => {
        inside.close()
        return this.destroy(ref)
      },
    }
  }

  /** Sandboxes by their workspace volumes, the latest attempt first. */
  async #find(filter: { run_id?: string }): Promise<Array<SandboxInfo & { user: number; named: boolean }>> {
    const label = [`${LABELS.installation}=${this.#options.installation_id}`]
    if (filter.run_id !== undefined) label.push(`${LABELS.run_id}=${filter.run_id}`)
    const [{ Volumes: volumes }, containers] = await Promise.all([
      this.#docker.listVolumes({
        filters: JSON.stringify({ label: [...label, `${LABELS.part}=workspace`] }),
      }),
      this.#listContainers(label),
    ])
    return (volumes ?? [])
      .map((volume) => {
        const id = volume.Labels[LABELS.sandbox] ?? ''
        const attempts = containers.filter((container) => container.id === id).map(({ attempt }) => attempt)
        const attempt = Math.max(Number(volume.Labels[LABELS.attempt]), ...attempts)
        const run_id = volume.Labels[LABELS.run_id] ?? ''
        const created_at = 'CreatedAt' in volume ? Date.parse(String(volume.CreatedAt)) : 0
        const user = Number(volume.Labels[LABELS.user] ?? SHARED_USER)
        const named = volume.Labels[LABELS.named] !== undefined
        return { ref: { backend: this.name, id, run_id, attempt }, created_at, user, named }
      })
      .sort((a, b) => b.ref.attempt - a.ref.attempt)
  }

  async #containersOf(id: string): Promise<Array<{ id: string; name: string; attempt: number }>> {
    return this.#listContainers([`${LABELS.sandbox}=${id}`])
  }

  async #listContainers(label: string[]): Promise<Array<{ id: string; name: string; attempt: number }>> {
    const containers = await this.#docker.listContainers({ all: true, filters: JSON.stringify({ label }) })
    return containers.map(({ Id, Labels, Names }) => ({
      id: Labels[LABELS.sandbox] ?? '',
      name: Id,
      // By its name, which changes when it is adopted; labels do not.
      attempt: Number(/\.(\d+)$/.exec(Names[0] ?? '')?.[1] ?? Labels[LABELS.attempt]),
    }))
  }
}

/** Not the run's own name: on an open network others can ask for the names of containers. */
function nameOfRun(run_id: string): string {
  return createHash('sha256').update(run_id).digest('hex').slice(0, 32)
}
