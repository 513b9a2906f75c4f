import type { Readable } from 'node:stream'

/** What a backend can promise. `isolation` is shown in the start log and in `/readyz`; nothing is chosen silently. */
export interface SandboxCapabilities {
  /** `container` (Docker), `namespace` (bubblewrap, weaker) or `none` (host). */
  isolation: 'container' | 'namespace' | 'none'
  /** Running commands can be frozen and thawed without their help. */
  pause: boolean
  /**
   * `hard`: memory and process limits are enforced by cgroups, and each sandbox has a user of its own; `weak`: only by rlimits,
   * or budgets of the kernel are shared with the service; `none`: not at all.
   */
  limits: 'hard' | 'weak' | 'none'
  /** The backend itself caps what the workspace may hold; else the worker can only watch it. */
  disk_quota: boolean
  /** Egress policies the backend enforces. A policy that is not listed is refused at create, never ignored. */
  egress: readonly EgressPolicy[]
  /** A process started in one `exec` may outlive it. */
  background_processes: boolean
}

/** A limit that does not hold here, in a sentence, and what changes that for whoever runs the machine. */
export interface Weakness {
  says: string
  fix: string
}

/** `none`: no network at all. `allowlist`: what a proxy lets through. `open`: whatever the host reaches. */
export type EgressPolicy = 'none' | 'allowlist' | 'open'

/** Where a sandbox with `allowlist` finds its proxy, and the gateway that the proxy belongs to. */
export const PROXY_PLACE = { address: '127.0.0.1', port: 3128 } as const
export const PROXY_URL = `http://${PROXY_PLACE.address}:${PROXY_PLACE.port}`

/** Where a folder of the host lies that is offered, read-only, to all sandboxes: programs for agents. */
export const TOOLS_PLACE = '/opt/runyard'

/** The proxy of a sandbox whose policy is `allowlist`. */
export interface SandboxEgress {
  /** Path of the Unix socket on this machine that speaks to it, or will: nobody may listen there before a run adopts the sandbox. */
  socket: string
  /** The user who may connect there; `null`: the service's own. */
  uid: number | null
  /** Aborted when nothing is behind the socket any more. */
  closed: AbortSignal
}

export interface SandboxLimits {
  /** Bytes of memory for all processes of the sandbox together. */
  memory_bytes: number
  /** Processes and threads at once. */
  pids: number
  /** CPUs, fractions allowed. */
  cpus: number
  /** Bytes the workspace, home and temporary files may take up. Enforced only where `capabilities.disk_quota`. */
  disk_bytes: number
}

export const DEFAULT_LIMITS: SandboxLimits = {
  memory_bytes: 1024 ** 3,
  pids: 256,
  cpus: 1,
  disk_bytes: 10 * 1024 ** 3,
}

/** For the registry of an image. */
export interface RegistryLogin {
  host: string
  username: string
  password: string
  /** What people call it. */
  name: string
}

export interface SandboxSpec {
  run_id: string
  attempt: number
  /** Container image, by its full name; bubblewrap and the host have none. Absent: the backend's default. */
  image?: string
  /** The image may be pulled when it is not there; the default image always may. */
  pull?: boolean
  /** What it is pulled with. */
  login?: RegistryLogin
  limits: SandboxLimits
  egress: EgressPolicy
  /** Needed by `allowlist`, of no use to others. */
  proxy?: SandboxEgress
  /** Set for every command; must hold no secret of the service. */
  env: Record<string, string>
  /** Names of empty folders that a new workspace is to have; they cost less here than by a command. */
  folders?: readonly string[]
}

/**
 * Names a sandbox across processes: JSON, small, kept in the database and handed to the warden.
 * `id` means something only to the backend that made it.
 */
export interface SandboxRef {
  backend: string
  id: string
  run_id: string
  attempt: number
}

export interface ExecOptions {
  /** A script for `bash` inside the sandbox, or `sh` where there is none; of any length. */
  command: string
  /** Absolute path inside the sandbox; default `/workspace`. Not a directory: exit code 126. */
  cwd?: string
  env?: Record<string, string>
  /** Written to the command's standard input, which is then closed. Absent: standard input is empty. */
  stdin?: string | Uint8Array | Readable
  /** The whole process tree is killed after this many milliseconds. */
  timeout_ms?: number
  /**
   * Bytes kept of stdout and stderr together; default 1 MiB. Beyond it the first and the last half are kept and the
   * middle is dropped (`truncated_bytes` in the exit says how much). What is dropped is not streamed either.
   */
  max_output_bytes?: number
  /** Aborting kills the whole process tree; `exit` then resolves within a second with `aborted: true`. */
  signal?: AbortSignal
}

export interface ExecChunk {
  stream: 'stdout' | 'stderr'
  data: Uint8Array
  /** The first chunk of a stream behind the dropped middle: it does not follow the one before. Empty where nothing follows. */
  after_gap?: true
}

export interface ExecExit {
  /** Exit code; `null` when ended by a signal, the timeout or an abort. */
  code: number | null
  /** Shells report signal n as exit code 128 + n; every backend turns that into the signal's name. */
  signal: string | null
  timed_out: boolean
  aborted: boolean
  truncated_bytes: number
}

export interface ExecHandle {
  /**
   * Output in the order it arrived, each chunk once. Consume it or the command stalls when the pipe is full.
   * Ends when the command and everything it left behind have closed their output or are killed. Never throws.
   */
  output: AsyncIterable<ExecChunk>
  /** Resolves after the last chunk; rejects only with `SandboxFault` when the sandbox itself failed. */
  exit: Promise<ExecExit>
  /** Kills the command's whole process tree. Idempotent. */
  kill(): Promise<void>
}

export interface FileStat {
  type: 'file' | 'directory' | 'symlink' | 'other'
  size: number
  /** Milliseconds since the epoch. */
  modified_at: number
}

/** What a sandbox takes up. */
export interface DiskUsage {
  /** Allocated, so holes do not count; a file with several names counts once. */
  bytes: number
  /** Files of every kind, directories included; 0 where it cannot be told. */
  files: number
}

/**
 * One run's isolated place. Paths are inside the sandbox; relative ones start at `/workspace`. Every file operation is
 * executed inside, as the sandbox's user: the host never opens a workspace path, so a symlink planted by the agent
 * leads nowhere the agent could not go itself.
 */
export interface Sandbox {
  readonly ref: SandboxRef
  readonly workspace: '/workspace'
  /**
   * `sha256:…`: which version of its image it is made of. The digest by which the image's registry knows it; of an image that
   * came from none, the engine's id. Absent where there are no images.
   */
  readonly image_digest?: string
  /** Those of its limits that hold. Commands have them as variables, too: `RUNYARD_MEMORY_LIMIT_MB` and so on. */
  readonly limits?: Partial<SandboxLimits>
  /** Its user's home directory; absent where that is not the sandbox's own. */
  readonly home?: '/home/agent'
  exec(options: ExecOptions): ExecHandle
  /** At most `max_bytes` (default 10 MiB); a larger or missing file throws `SandboxFileError`. */
  readFile(path: string, options?: { max_bytes?: number }): Promise<Buffer>
  /** The same as a stream, which fails like that; for files that need not be in memory as a whole. */
  openFile(path: string, options: { max_bytes: number }): Readable
  /** Creates parent directories; replaces what is there. */
  writeFile(path: string, data: string | Uint8Array, options?: { mode?: number }): Promise<void>
  /** Names and kinds of one directory, sorted by name; not recursive. */
  listDirectory(path: string): Promise<Array<{ name: string; type: FileStat['type'] }>>
  /** `null` when nothing is there. Does not follow a symlink at the end of the path. */
  stat(path: string): Promise<FileStat | null>
  deleteFile(path: string): Promise<void>
  /**
   * Whether a folder of the workspace surely holds nothing, told without running a command. Absent where only a command
   * could tell.
   */
  isEmpty?(folder: string): Promise<boolean>
  /**
   * Whether it surely holds nothing but the empty folders it was made with, told without running a command. Absent where only
   * a command could tell.
   */
  isUntouched?(): Promise<boolean>
  /**
   * How many processes the kernel has killed since this was asked last, because all of the sandbox's together were over its limit
   * of memory. Absent where nobody counts. Never rejects.
   */
  takeMemoryKills?(): Promise<number>
  /**
   * Stops the processes that run in it now, and none that are started later, until what it returns is called. That never
   * fails: what cannot go on is killed. Killing ends stopped processes, too. Throws `SandboxFault`.
   */
  hold(): Promise<() => Promise<void>>
  /** Unpacks an uncompressed tar below `path` (default `/workspace`), inside, as the sandbox's user. */
  importTar(stream: Readable, path?: string): Promise<void>
  /** An uncompressed tar of `path` (default `/workspace`). */
  exportTar(path?: string): Readable
  /**
   * What all its directories on disk hold, told from outside where that is possible. Takes the longer the more files there
   * are; rejects with `SandboxFault` when it fails or the signal cuts it short.
   */
  usage(signal?: AbortSignal): Promise<DiskUsage>
  /** Kills every process in the sandbox within a second; the sandbox stays usable. */
  killAll(): Promise<void>
  /** Kills everything and removes the sandbox with its workspace. Idempotent. */
  destroy(): Promise<void>
}

/** A sandbox made in advance, in which nothing has run: it serves the first run of its kind. */
export interface WarmSandbox {
  readonly ref: SandboxRef
  /**
   * Gives it to the run: it is of `spec.attempt` from now on, and keeps its `run_id`. `null` when it is gone, or is not what
   * `create` would make now. The proxy is the one that it was made with.
   */
  adopt(spec: SandboxSpec): Promise<Sandbox | null>
  /** Removes it, unless it was adopted. Idempotent. */
  destroy(): Promise<void>
}

/** What sandboxes have in common that can stand in for each other. */
export type SandboxKind = Pick<SandboxSpec, 'image' | 'pull' | 'login' | 'limits' | 'egress' | 'folders'>

/** One made in advance has its own way to a proxy already. */
export type WarmSpec = SandboxKind & Pick<SandboxSpec, 'proxy'>

export interface SandboxInfo {
  ref: SandboxRef
  created_at: number
}

/** A way to isolate. `freeze`, `thaw` and `kill` work from any process of the host, given only the ref: the warden's. */
export interface SandboxBackend {
  /** Any; what runs and rows call it. */
  readonly name: string
  readonly capabilities: SandboxCapabilities
  /**
   * Names where its sandboxes can be reached, whatever the machine or the container is called: of two workers with one place
   * each reaches what the other made.
   */
  readonly place: string
  /** What sandboxes are made of whose spec names no image; absent where there are no images. */
  readonly default_image?: string
  /**
   * Folders of this machine whose programs sandboxes find that are made of no image of their own, the tools' folder aside. Absent
   * where that is not known: an operator's image may have any.
   */
  readonly program_folders?: readonly string[]
  /** A directory of this host on whose file system the sandboxes lie; absent where that is not known. */
  readonly storage?: string
  /** One sentence for the start log and `/readyz`: what isolates, and what is weak about it. */
  readonly description: string
  /** Which limits do not hold here. */
  readonly weaknesses: readonly Weakness[]
  create(spec: SandboxSpec): Promise<Sandbox>
  /** Whether an image, by its name in full, is there without being pulled. Absent where there are none. Throws `SandboxFault`. */
  hasImage?(image: string): Promise<boolean>
  /**
   * Makes one in advance. `run_id` is a name of its own, which no run has, and its attempt is 0: whoever adopts it comes later.
   * Absent where making one takes no time worth saving.
   */
  createWarm?(run_id: string, spec: WarmSpec): Promise<WarmSandbox>
  /**
   * Takes over the run's existing sandbox with its workspace for a new attempt, all its processes killed; `null` when
   * there is none here (another place, removed, never made). Refuses a sandbox of a later attempt with `null`.
   */
  attach(spec: SandboxSpec): Promise<Sandbox | null>
  /** Sandboxes of this installation in this place. */
  list(): Promise<SandboxInfo[]>
  /** Both or neither, as `capabilities.pause` says. Where there is no freezing, a sandbox whose worker may be lost is killed. */
  freeze?(ref: SandboxRef): Promise<void>
  thaw?(ref: SandboxRef): Promise<void>
  /** Kills all processes; keeps the workspace. */
  kill(ref: SandboxRef): Promise<void>
  /**
   * Nobody starts anything in the sandbox until it is attached again: kills all processes and gives back what only running
   * ones need. Absent where that is nothing.
   */
  release?(ref: SandboxRef): Promise<void>
  /**
   * Removes what processes of this place that were killed left on this machine beside their sandboxes, and nothing of living
   * ones; how much it was. Absent where there is nothing to leave. `now`: milliseconds since 1970.
   */
  removeLeftovers?(now?: number): Promise<number>
  /** Removes the sandbox and its workspace unless a later attempt has taken it over. Idempotent. */
  destroy(ref: SandboxRef): Promise<void>
}

/** The sandbox itself failed (engine away, disk full, killed from outside): ours, not the caller's. */
export class SandboxFault extends Error {
  override name = 'SandboxFault'
}

/** The image a spec names cannot be used: its caller's choice, not a fault. The message goes on from the image's name. */
export class SandboxImageError extends Error {
  override name = 'SandboxImageError'
}

/** Any failure below a backend's interface as the one its callers expect. */
export function toFault(error: unknown): SandboxFault {
  if (error instanceof SandboxFault) return error
  return new SandboxFault(error instanceof Error ? error.message : String(error), { cause: error })
}

/** A file operation was refused inside the sandbox; `code` as in errno (`ENOENT`, `EISDIR`, `EFBIG`, …). */
export class SandboxFileError extends Error {
  override name = 'SandboxFileError'
  readonly code: string
  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/** Throws `SandboxFault` when the backend does not enforce the egress policy asked for: it is never ignored. */
export function requireEgress(
  backend: Pick<SandboxBackend, 'name' | 'capabilities'>,
  spec: Pick<SandboxSpec, 'egress' | 'proxy'>,
): void {
  if (!backend.capabilities.egress.includes(spec.egress) || (spec.egress === 'allowlist') !== !!spec.proxy)
    throw new SandboxFault(`The ${backend.name} sandbox does not enforce the egress policy '${spec.egress}'`)
}

/** One word of a POSIX shell, for a command. */
export const quote = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`

export interface Collected {
  exit: ExecExit
  stdout: Buffer
  stderr: Buffer
}

/** Everything a command wrote, for callers that want it whole, and how it ended. Rejects with `SandboxFault`. */
export async function collectExec({ output, exit }: ExecHandle): Promise<Collected> {
  // It may reject while output is still read, long before it is awaited below: that is not an unhandled rejection.
  exit.catch(() => {})
  const printed: { stdout: Uint8Array[]; stderr: Uint8Array[] } = { stdout: [], stderr: [] }
  for await (const { stream, data } of output) printed[stream].push(data)
  return {
    exit: await exit,
    stdout: Buffer.concat(printed.stdout),
    stderr: Buffer.concat(printed.stderr),
  }
}
