import type { EventData } from '../contract/event.ts'
import type { ImagePolicy } from '../contract/image.ts'
import type { LimitMaxima } from '../contract/limits.ts'
import type {
  Gateway,
  GitCredential,
  GitHostKind,
  ModelProviders,
  ModelUsage,
  ReservedWay,
} from '../gateway/gateway.ts'
import type { Harness, Outcome, Tool } from '../harness/harness.ts'
import type {
  EgressPolicy,
  Sandbox,
  SandboxBackend,
  SandboxKind,
  SandboxLimits,
  SandboxRef,
  WarmSandbox,
} from '../sandbox/sandbox.ts'
import type { ControlPlane } from './control-plane.ts'

/** The warden as a worker sees it: what it watches is frozen when beats fail and killed when the worker goes. */
export interface Warden {
  watch(ref: SandboxRef): void
  unwatch(ref: SandboxRef): void
}

export interface DiskGuard {
  /** Whether there is room for another run. Says in the log when that changes. */
  hasRoom(): Promise<boolean>
  /**
   * Watches what the sandbox holds until it is closed. `onOver` is called at most once, with how the run ends; close the
   * watch after the sandbox is removed: until then nobody else is ended for want of space.
   */
  watch(sandbox: Sandbox, limits: SandboxLimits, onOver: (outcome: Outcome) => void): { close(): void }
}

export interface Logger {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** What every execution of a worker shares. */
export interface WorkerContext {
  plane: ControlPlane
  backend: SandboxBackend
  /** Others that may have been used here before; only what they left is removed, and nobody waits for that. */
  openFormerBackends(): Promise<readonly SandboxBackend[]>
  harnesses: ReadonlyMap<string, Harness>
  /** The harness of runs that name none. */
  default_harness: string
  /** What agents can do, by name. */
  tools: ReadonlyMap<string, Tool>
  warden: Warden
  warm: { take(kind: SandboxKind): Reserve | null }
  gateway: Pick<Gateway, 'open' | 'reserve'>
  disk: DiskGuard
  log: Logger
  settings: WorkerSettings
}

/** A sandbox, and the way out that it is connected to already; `null`: its kind has none by the gateway. */
export interface Reserve {
  sandbox: WarmSandbox
  way: ReservedWay | null
}

export interface WorkerSettings {
  /** Of this program. */
  version: string
  pool: string
  /** Where the sandboxes of its backend can be reached. */
  place: string
  slots: number
  /** How long runs may take to a step boundary when the worker stops. */
  grace_ms: number
  /** Idle sandboxes kept at most. */
  max_idle: number
  /** Sandboxes made in advance of each kind that is in use; 0: none. */
  warm: number
  /** The widest egress an environment may ask for. */
  egress: EgressPolicy
  /** Hosts that sandboxes may reach although they have no public address, once an environment allows them. */
  private_hosts: readonly string[]
  /** Whose API hosts of git speak, beside github.com and gitlab.com. */
  git_hosts: Record<string, GitHostKind>
  /** What commands may call where their environment lets them. */
  models: ModelProviders
  /** How long one of them may say nothing to a sandbox; absent: as the gateway has it. */
  model_silence_ms?: number
  /** What a call of a model by the gateway costs, in US dollars; `undefined` where nobody knows. */
  costOf: (used: ModelUsage) => Partial<EventData<'usage'>> | undefined
  /** For all environments, behind their own; only where one person is all there are. */
  git_credential?: GitCredential
  /** Container images that environments may name; only Docker uses them. */
  images: ImagePolicy
  /** The most that environments may ask for. */
  limit_maxima: LimitMaxima
  /** What one run may keep: attachments and artifacts. */
  max_run_files_bytes: number
  /** What the snapshot of one workspace may take up, compressed (0: none are taken), and the time between two in a turn. */
  snapshots: { max_bytes: number; every_ms: number; turns: number }
  /** What setups left, of all environments together; 0: nothing. */
  prepared: { max_bytes: number }
  /** The service's own files; no repository is read from there. */
  data_dir: string
  /** Local repositories lie below this folder; absent: there are none. */
  local_repos?: string
}
