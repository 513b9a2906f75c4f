import { createHash } from 'node:crypto'
import type Docker from 'dockerode'
import { allOf } from './all-of.ts'
import { authorityVariables } from './authorities.ts'
import { HOME, makeAccountFiles, USER_NAME } from './docker-accounts.ts'
import { makeArchive } from './docker-archive.ts'
import { statusOf } from './docker-engine.ts'
import type { SandboxImage } from './docker-image.ts'
import { emptied, LABELS } from './docker-labels.ts'
import { requireOpenNetwork } from './docker-network.ts'
import { userOf } from './docker-users.ts'
import { HIDDEN_FILES, HIDDEN_FOLDERS, resourceLimits } from './kernel-limits.ts'
import { type SandboxKind, type SandboxRef, TOOLS_PLACE } from './sandbox.ts'
import { makeSeccompProfile } from './seccomp-filter.ts'

const TMP_BYTES = 256 * 1024 ** 2
const SHM_BYTES = 64 * 1024 ** 2
const GITCONFIG = '[user]\n\tname = Runyard agent\n\temail = agent@runyard.invalid\n'

/** A sandbox's volumes. The workspace is what makes the sandbox: it comes first and goes last. */
export const PARTS = ['workspace', 'home', 'program'] as const
/** The program's file in the last of them, which also holds the sandbox's own accounts. */
const PROGRAM = 'program'
/** What an engine hides by itself, and more. */
const MASKED_PATHS = [
  ...HIDDEN_FILES,
  ...HIDDEN_FOLDERS,
  ...['/sys/firmware', '/sys/devices/virtual/powercap'],
]
const SECCOMP_PROFILE = makeSeccompProfile()

/** Makes the volumes and containers of one installation. */
export class DockerMaker {
  readonly #docker: Docker
  readonly #installation_id: string
  readonly #runtime: string | undefined
  readonly #is_wide: boolean
  readonly #findTools: () => string | undefined

  constructor(
    docker: Docker,
    {
      installation_id,
      runtime,
      is_wide,
      findTools = () => undefined,
    }: {
      installation_id: string
      runtime?: string
      is_wide: boolean
      findTools?: () => string | undefined
    },
  ) {
    this.#is_wide = is_wide
    this.#findTools = findTools
    this.#docker = docker
    this.#installation_id = installation_id
    this.#runtime = runtime
  }

  /**
   * A new sandbox, its container started. Where it fails something may be left. `named`: its user shall have a name, which
   * not every engine and image allows.
   */
  async make(
    ref: SandboxRef,
    kind: SandboxKind,
    image: SandboxImage,
    { named }: { named: boolean },
  ): Promise<Docker.Container> {
    await allOf(
      PARTS.map((part) =>
        this.#docker.createVolume({
          Name: `${ref.id}-${part}`,
          Labels: {
            ...this.#labels(ref),
            ...{ [LABELS.part]: part, [LABELS.user]: String(this.userOf(ref)) },
            ...(named ? { [LABELS.named]: 'yes' } : {}),
          },
        }),
      ),
    )
    const making = this.createContainer(ref, kind, image, { named })
    const filling = this.#giveVolumes(ref, image, kind.folders ?? [])
    await allOf([making, filling])
    const container = await making
    await allOf([container.start(), (await filling).remove({ force: true })])
    return container
  }

  /** Whose the files of a sandbox are that is made now. */
  userOf({ id }: SandboxRef): number {
    return userOf(id, { is_wide: this.#is_wide })
  }

  /** Where the program lies inside the container that `ref` names. */
  programOf(ref: SandboxRef): string {
    return `${this.#programFolder(ref)}/${PROGRAM}`
  }

  /**
   * Makes the volumes the sandbox user's own and puts program and accounts into the one that stays root's. They are root's at
   * first, and nobody inside has the capability to change that; the engine unpacks an archive with all of them, but only
   * over a writable root, so into a container that is never started. Returns that one.
   */
  async #giveVolumes(
    ref: SandboxRef,
    image: SandboxImage,
    folders: readonly string[],
  ): Promise<Docker.Container> {
    const program = this.#programFolder(ref)
    const user = this.userOf(ref)
    const container = await this.#docker.createContainer({
      name: `${ref.id}.volumes`,
      Image: image.id,
      Labels: this.#containerLabels(ref, image),
      Entrypoint: ['true'],
      HostConfig: { NetworkMode: 'none', Mounts: mountsOf(ref, program, false) },
    })
    const files = {
      workspace: null,
      ...Object.fromEntries(folders.map((name) => [`workspace/${name}`, null])),
      [HOME.slice(1)]: null,
      [`${HOME.slice(1)}/.gitconfig`]: GITCONFIG,
      [`${program.slice(1)}/${PROGRAM}`]: { data: image.program, mode: 0o555 },
      ...Object.fromEntries(
        Object.entries(makeAccountFiles(image.accounts, user)).map(([name, data]) => [
          `${program.slice(1)}/${name}`,
          { data, mode: 0o644 },
        ]),
      ),
    }
    const archive = makeArchive(files, user)
    await container.putArchive(archive, { path: '/' })
    return container
  }

  /** The attempt's container, on volumes that are there. */
  async createContainer(
    ref: SandboxRef,
    spec: SandboxKind,
    image: SandboxImage,
    { named }: { named: boolean },
  ): Promise<Docker.Container> {
    const { limits } = spec
    const program = this.#programFolder(ref)
    return this.#docker.createContainer({
      name: containerName(ref),
      Image: image.id,
      Labels: this.#containerLabels(ref, image),
      // An ordinary user and a program of ours: out of the reach of the commands, which run as another, and nothing in here
      // is ever root.
      User: '65534:65534',
      Entrypoint: [`${program}/${PROGRAM}`],
      Cmd: [],
      WorkingDir: '/workspace',
      Env: [
        ...[`HOME=${HOME}`, `USER=${USER_NAME}`, `LOGNAME=${USER_NAME}`, `SHELL=${image.accounts.shell}`],
        ...['LANG=C.UTF-8', 'TERM=dumb', `RUNYARD_SANDBOX=${ref.id}`],
        // Of the container, not of its commands: one that was made before has no such file.
        ...Object.entries(authorityVariables(this.#findTools())).map(([name, value]) => `${name}=${value}`),
      ],
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
        Ulimits: Object.entries({ core: 0, ...resourceLimits(limits) }).map(([Name, most]) => ({
          ...{ Name, Soft: most, Hard: most },
        })),
        MaskedPaths: MASKED_PATHS,
        Tmpfs: { '/tmp': `rw,exec,nosuid,nodev,size=${TMP_BYTES},mode=1777` },
        ShmSize: SHM_BYTES,
        IpcMode: 'private',
        LogConfig: { Type: 'none', Config: {} },
        Mounts: [...mountsOf(ref, program, true), ...this.#tools()],
        // Unlike a mount, a bind may be named before its file is there, which saves waiting for that.
        Binds: named ? await this.#bindAccounts(ref, image) : [],
        ...(this.#runtime === undefined ? {} : { Runtime: this.#runtime }),
      },
    })
  }

  /**
   * Where the program lies inside. Another place for each container, which nobody can know before: an image with a link
   * there could lead process 1 elsewhere.
   */
  #programFolder(ref: SandboxRef): string {
    const secret = `${this.#installation_id} ${containerName(ref)}`
    return `/.runyard-${createHash('sha256').update(secret).digest('hex').slice(0, 32)}`
  }

  /**
   * Puts the sandbox's accounts in place of the image's: files of the program's volume, by their paths on the engine's
   * machine. No engine before 26 mounts single files of a volume by the volume's name.
   */
  async #bindAccounts(ref: SandboxRef, { accounts }: SandboxImage): Promise<string[]> {
    const targets = Object.entries(accounts.targets)
    if (targets.length === 0) return []
    const volume = this.#docker.getVolume(`${ref.id}-program`)
    const found = await volume.inspect().catch((error) => {
      // The sandbox is gone; creating its container fails and says so.
      if (statusOf(error) === 404) return null
      throw error
    })
    return found ? targets.map(([name, target]) => `${found.Mountpoint}/${name}:${target}:ro`) : []
  }

  #tools(): Docker.MountConfig {
    const tools_dir = this.#findTools()
    if (tools_dir === undefined) return []
    return [{ Type: 'bind', Source: tools_dir, Target: TOOLS_PLACE, ReadOnly: true }]
  }

  #containerLabels(ref: SandboxRef, image: SandboxImage): Record<string, string> {
    return { ...emptied(image.labels), ...this.#labels(ref) }
  }

  #labels(ref: SandboxRef): Record<string, string> {
    return {
      [LABELS.installation]: this.#installation_id,
      [LABELS.sandbox]: ref.id,
      [LABELS.run_id]: ref.run_id,
      [LABELS.attempt]: String(ref.attempt),
    }
  }
}

/** Of the attempt's container. */
export function containerName(ref: SandboxRef): string {
  return `${ref.id}.${ref.attempt}`
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
