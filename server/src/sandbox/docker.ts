import { createHash } from 'node:crypto'
import Docker from 'dockerode'
import { makeArchive } from './docker-archive.ts'
import { DockerContainer } from './docker-container.ts'
import { engineFault, ignoreStatus, messageOf, statusOf } from './docker-engine.ts'
import { requireImage, type SandboxImage } from './docker-image.ts'
import { requireOpenNetwork } from './docker-network.ts'
import { DockerUplinks } from './docker-uplinks.ts'
import { describeEngine, measureVolumes } from './docker-usage.ts'
import { makeFileOperations } from './file-operations.ts'
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
  type SandboxRef,
  type SandboxSpec,
} from './sandbox.ts'
import { makeSeccompProfile } from './seccomp-filter.ts'

export const DEFAULT_IMAGE = 'node:24-bookworm'

const HOME = '/home/agent'
const TMP_BYTES = 256 * 1024 ** 2
const SHM_BYTES = 64 * 1024 ** 2
const PULL_LIMIT_MS = 10 * 60_000
const GITCONFIG = '[user]\n\tname = Runyard agent\n\temail = agent@runyard.invalid\n'

/** A sandbox's volumes. The workspace is what makes the sandbox: it comes first and goes last. */
const PARTS = ['workspace', 'home', 'program'] as const
/** The file in the last of them. */
const PROGRAM = 'program'
const SECCOMP_PROFILE = makeSeccompProfile()

const LABELS = {
  installation: 'runyard.installation',
  sandbox: 'runyard.sandbox',
  run_id: 'runyard.run_id',
  attempt: 'runyard.attempt',
  part: 'runyard.part',
} as const

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
}

/**
 * Opens the Docker backend on the engine `DOCKER_HOST` names, else on the local socket. A sandbox is three labelled
 * volumes, the workspace, the home directory and a program of ours, and a container for each attempt: making the container of an attempt
 * is what takes the volumes over. Throws `SandboxFault` when no engine answers.
 */
export async function openDocker(options: DockerOptions): Promise<SandboxBackend> {
  const docker = new Docker()
  try {
    await docker.ping()
  } catch (error) {
    throw new SandboxFault(`no Docker engine answers: ${messageOf(error)}`)
  }
  if (options.pull_limit_ms !== undefined) {
    const image = options.default_image ?? DEFAULT_IMAGE
    const { pull_limit_ms, onPull } = options
    await requireImage(docker, image, { pull_limit_ms, onPull }).catch((error) => {
      // Told to the operator, who gave the name; so it may say why.
      const why = error.cause ? `: ${messageOf(error.cause)}` : ''
      throw new SandboxFault(`the image ${image} ${error.message}${why}`, { cause: error })
    })
  }
  return new DockerBackend(docker, options, await describeEngine(docker))
}

class DockerBackend implements SandboxBackend {
  readonly name = 'docker'
  readonly capabilities: SandboxCapabilities
  readonly description: string
  readonly place: string
  readonly default_image: string
  readonly storage?: string
  readonly #docker: Docker
  readonly #options: DockerOptions
  /** Tells installations on one engine apart in names. */
  readonly #tag: string
  readonly #uplinks = DockerUplinks.find()

  constructor(docker: Docker, options: DockerOptions, engine: { place: string; storage?: string }) {
    this.place = engine.place
    this.default_image = options.default_image ?? DEFAULT_IMAGE
    if (engine.storage !== undefined) this.storage = engine.storage
    this.#docker = docker
    this.#options = options
    this.#tag = createHash('sha256').update(options.installation_id).digest('hex').slice(0, 12)
    this.capabilities = {
      isolation: 'container',
      pause: true,
      limits: 'hard',
      disk_quota: false,
      egress: this.#uplinks ? ['none', 'allowlist', 'open'] : ['none', 'open'],
      background_processes: true,
    }
    this.description = [
      `docker: a container per run without capabilities (${options.runtime ?? 'default runtime'})`,
      'memory, processes and CPU limited',
      this.#uplinks
        ? 'allowed hosts only by a proxy'
        : 'no lists of allowed hosts (that takes root beside its engine, with socat and util-linux)',
      'no disk quota',
    ].join('; ')
  }

  async create(spec: SandboxSpec): Promise<Sandbox> {
    requireEgress(this, spec)
    const image = await this.#requireImage(spec)
    for (const { ref } of await this.#find({ run_id: spec.run_id })) {
      if (ref.attempt >= spec.attempt)
        throw new SandboxFault(`Run ${spec.run_id} already has a sandbox of attempt ${ref.attempt}`)
      await this.destroy(ref)
    }
    const id = `runyard-${this.#tag}-${nameOfRun(spec.run_id)}-${spec.attempt}`
    const ref = { backend: this.name, id, run_id: spec.run_id, attempt: spec.attempt }
    try {
      for (const part of PARTS)
        await this.#docker.createVolume({
          Name: `${id}-${part}`,
          Labels: { ...this.#labels(ref), [LABELS.part]: part },
        })
      await this.#giveVolumes(ref, image, spec.folders ?? [])
      const container = await this.#createContainer(ref, spec, image)
      await container.start()
      return await this.#open(ref, spec, container)
    } catch (error) {
      await this.destroy(ref).catch(() => {})
      throw engineFault('the Docker engine could not make the container', error)
    }
  }

  async attach(spec: SandboxSpec): Promise<Sandbox | null> {
    requireEgress(this, spec)
    const [latest] = await this.#find({ run_id: spec.run_id })
    if (!latest || latest.ref.attempt > spec.attempt) return null
    const ref = { ...latest.ref, attempt: spec.attempt }
    const image = await this.#requireImage(spec)
    // The name is free or ours: whoever makes a container of the highest attempt owns the volumes.
    const container = await this.#createContainer(ref, spec, image).catch(async (error) => {
      if (statusOf(error) !== 409) throw engineFault('the Docker engine could not make the container', error)
      await ignoreStatus([404, 409], this.#docker.getContainer(containerName(ref)).kill())
      return this.#docker.getContainer(containerName(ref))
    })
    const containers = await this.#containersOf(ref.id)
    const overtaken = containers.some((other) => other.attempt > spec.attempt)
    // Volumes removed in between are made anew by the engine, empty and without labels.
    const [still_there] = overtaken ? [] : await this.#find({ run_id: spec.run_id })
    if (!still_there) {
      await ignoreStatus([404, 409], container.remove({ force: true, v: true }))
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
    return this.#open(ref, spec, container)
  }

  async list(): Promise<SandboxInfo[]> {
    return this.#find({})
  }

  async freeze(ref: SandboxRef): Promise<void> {
    await ignoreStatus([404, 409], this.#docker.getContainer(containerName(ref)).pause())
  }

  async thaw(ref: SandboxRef): Promise<void> {
    await ignoreStatus([404, 409, 500], this.#docker.getContainer(containerName(ref)).unpause())
  }

  /** Stops the attempt's container: its owner can start nothing any more, a later attempt gets a new one. */
  async kill(ref: SandboxRef): Promise<void> {
    await ignoreStatus([404, 409], this.#docker.getContainer(containerName(ref)).kill())
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
    await ignoreStatus([404, 409], this.#docker.getContainer(name).remove({ force: true, v: true }))
  }

  async #requireImage(spec: SandboxSpec): Promise<SandboxImage> {
    const image = spec.image ?? this.default_image
    const pulls = spec.image === undefined || spec.pull
    const { onPull } = this.#options
    try {
      return await requireImage(this.#docker, image, {
        ...(pulls ? { pull_limit_ms: PULL_LIMIT_MS } : {}),
        onPull,
      })
    } catch (error) {
      if (spec.image !== undefined || !(error instanceof SandboxImageError)) throw error
      throw new SandboxFault(`the default image ${error.message}`, { cause: error.cause })
    }
  }

  async #open(ref: SandboxRef, spec: SandboxSpec, container: Docker.Container): Promise<Sandbox> {
    const connect = async () => spec.proxy && this.#uplinks?.connect(container, spec.proxy)
    await connect()
    const inside = new DockerContainer(container, `${this.#programFolder(ref)}/${PROGRAM}`, connect)
    const exec = (options: ExecOptions, env: Record<string, string>): ExecHandle => inside.exec(options, env)
    return {
      ref,
      workspace: '/workspace',
      exec: (options) => exec(options, { ...(spec.proxy ? PROXY_ENV : {}), ...spec.env, ...options.env }),
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
      killAll: () => inside.killAll(),
      destroy: () => this.destroy(ref),
    }
  }

  /**
   * Makes the volumes the sandbox user's own and puts the program into the one that stays root's. They are root's at
   * first, and nobody inside has the capability to change that; the engine unpacks an archive with all of them, but only
   * over a writable root, so into a container that is never started.
   */
  async #giveVolumes(ref: SandboxRef, image: SandboxImage, folders: readonly string[]): Promise<void> {
    const program = this.#programFolder(ref)
    const container = await this.#docker.createContainer({
      name: `${ref.id}.volumes`,
      Image: image.id,
      Labels: this.#containerLabels(ref, image),
      Entrypoint: ['true'],
      HostConfig: { NetworkMode: 'none', Mounts: mountsOf(ref, program, false) },
    })
    const archive = makeArchive({
      workspace: null,
      ...Object.fromEntries(folders.map((name) => [`workspace/${name}`, null])),
      [HOME.slice(1)]: null,
      [`${HOME.slice(1)}/.gitconfig`]: GITCONFIG,
      [`${program.slice(1)}/${PROGRAM}`]: { program: image.program },
    })
    await container.putArchive(archive, { path: '/' })
    await container.remove({ force: true })
  }

  async #createContainer(ref: SandboxRef, spec: SandboxSpec, image: SandboxImage): Promise<Docker.Container> {
    const { limits } = spec
    const program = this.#programFolder(ref)
    return this.#docker.createContainer({
      name: containerName(ref),
      Image: image.id,
      Labels: this.#containerLabels(ref, image),
      // An ordinary user and a program of ours: out of the reach of the commands, which run as 1000, and nothing in here
      // is ever root.
      User: '65534:65534',
      Entrypoint: [`${program}/${PROGRAM}`],
      Cmd: [],
      WorkingDir: '/workspace',
      Env: [`HOME=${HOME}`, 'USER=agent', 'LANG=C.UTF-8', 'TERM=dumb', `RUNYARD_SANDBOX=${ref.id}`],
      Hostname: 'sandbox',
      Healthcheck: { Test: ['NONE'] },
      HostConfig: {
        CapDrop: ['ALL'],
        SecurityOpt: ['no-new-privileges', `seccomp=${SECCOMP_PROFILE}`],
        ReadonlyRootfs: true,
        Init: true,
        NetworkMode: spec.egress === 'open' ? await requireOpenNetwork(this.#docker) : 'none',
        Memory: limits.memory_bytes,
        MemorySwap: limits.memory_bytes,
        NanoCpus: Math.round(limits.cpus * 1e9),
        PidsLimit: limits.pids,
        OomScoreAdj: 500,
        Ulimits: [{ Name: 'core', Soft: 0, Hard: 0 }],
        Tmpfs: { '/tmp': `rw,exec,nosuid,nodev,size=${TMP_BYTES},mode=1777` },
        ShmSize: SHM_BYTES,
        IpcMode: 'private',
        LogConfig: { Type: 'none', Config: {} },
        Mounts: mountsOf(ref, program, true),
        ...(this.#options.runtime === undefined ? {} : { Runtime: this.#options.runtime }),
      },
    })
  }

  /**
   * Where the program lies inside. Another place for each container, which nobody can know before: an image with a link
   * there could lead process 1 elsewhere.
   */
  #programFolder(ref: SandboxRef): string {
    const secret = `${this.#options.installation_id} ${containerName(ref)}`
    return `/.runyard-${createHash('sha256').update(secret).digest('hex').slice(0, 32)}`
  }

  /** Sandboxes by their workspace volumes, the latest attempt first. */
  async #find(filter: { run_id?: string }): Promise<SandboxInfo[]> {
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
        return { ref: { backend: this.name, id, run_id, attempt }, created_at }
      })
      .sort((a, b) => b.ref.attempt - a.ref.attempt)
  }

  async #containersOf(id: string): Promise<Array<{ id: string; name: string; attempt: number }>> {
    return this.#listContainers([`${LABELS.sandbox}=${id}`])
  }

  async #listContainers(label: string[]): Promise<Array<{ id: string; name: string; attempt: number }>> {
    const containers = await this.#docker.listContainers({ all: true, filters: JSON.stringify({ label }) })
    return containers.map(({ Id, Labels }) => ({
      id: Labels[LABELS.sandbox] ?? '',
      name: Id,
      attempt: Number(Labels[LABELS.attempt]),
    }))
  }

  /** Without those of the image: tools beside the engine take orders from labels. */
  #containerLabels(ref: SandboxRef, image: SandboxImage): Record<string, string> {
    return { ...Object.fromEntries(image.labels.map((name) => [name, ''])), ...this.#labels(ref) }
  }

  #labels(ref: SandboxRef): Record<string, string> {
    return {
      [LABELS.installation]: this.#options.installation_id,
      [LABELS.sandbox]: ref.id,
      [LABELS.run_id]: ref.run_id,
      [LABELS.attempt]: String(ref.attempt),
    }
  }
}

function mountsOf(ref: SandboxRef, program: string, read_only: boolean): Docker.MountConfig {
  const mount = (part: (typeof PARTS)[number], target: string) => ({
    Type: 'volume' as const,
    Source: `${ref.id}-${part}`,
    Target: target,
    ReadOnly: part === 'program' && read_only,
    // Else the engine gives an empty volume the owner its directory has in the image.
    VolumeOptions: { NoCopy: true, Labels: {}, DriverConfig: { Name: '', Options: {} } },
  })
  return [mount('workspace', '/workspace'), mount('home', HOME), mount('program', program)]
}

function containerName(ref: SandboxRef): string {
  return `${ref.id}.${ref.attempt}`
}

/** Not the run's own name: on an open network others can ask for the names of containers. */
function nameOfRun(run_id: string): string {
  return createHash('sha256').update(run_id).digest('hex').slice(0, 32)
}
