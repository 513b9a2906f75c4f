import type { Blobs } from '../blobs/blobs.ts'
import type { EventData } from '../contract/event.ts'
import type { ImagePolicy } from '../contract/image.ts'
import type { LimitMaxima } from '../contract/limits.ts'
import type { Harness, Outcome, Tool } from '../harness/harness.ts'
import type {
  EgressPolicy,
  Sandbox,
  SandboxBackend,
  SandboxEgress,
  SandboxLimits,
  SandboxRef,
} from '../sandbox/sandbox.ts'
import type { Keyring } from '../sealing/keyring.ts'
import type { Store } from '../store/db.ts'
import type { Watch } from '../store/watch.ts'

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

/** What authenticates to a git host; it is never given to a sandbox. */
export interface GitCredential {
  /** The secret's name, for messages. */
  name: string
  host: string
  /** `null`: every one of the host. */
  repositories: readonly string[] | null
  username: string | null
  /** A token, or the private key of a GitHub App. */
  secret: string
  read_only: boolean
  app: { app_id: string; installation_id: string } | null
}

/** What the gateway does for one sandbox with git. */
export interface GitRules {
  repositories: ReadonlyArray<{ host: string; path: string; has_suffix: boolean }>
  credentials: readonly GitCredential[]
  /** Branches that may be pushed; `*` at the end of one stands for all that begin so. */
  branches: readonly string[]
  kinds: Record<string, 'github' | 'gitlab'>
}

/** Whose models may be called, by which address (with the version) and key; `null`: none is needed. */
export type ModelProviders = Partial<
  Record<'openai' | 'anthropic' | 'google', { api_key: string | null; base_url: string }>
>

/** What the gateway does for one sandbox with models. */
export interface ModelRules {
  token: string
  providers: ModelProviders
  /** Input and output together; `null`: as many as it likes. */
  tokens_left: number | null
}

/** What one call of a model has used. */
export interface ModelUsage {
  provider: string
  model: string | null
  input_tokens: number
  output_tokens: number
  cached_input_tokens?: number
  estimated?: true
}

/** A branch of a repository, to be shown or merged. */
export interface BranchRequest {
  host: string
  path: string
  branch: string
  /** What was pushed as it. */
  commit: string
  /** Absent: only where the branch can be seen is asked for. */
  pull_request?: { base: string | null; title: string; body: string }
}

/** `url`: for people. `retryable`: it may go well later, without anybody's doing. */
export type BranchAnswer =
  | { url: string; pull_request?: { number: number; url: string } }
  | { failure: string; retryable: boolean }

/** A proxy, git and models for one sandbox, until it is closed. */
export interface Egress extends SandboxEgress {
  /** Has a pull request opened for a branch that was pushed, or finds the one that is open. */
  publish(request: BranchRequest): Promise<BranchAnswer>
  /** Resolves when all that models have used was told, or after seconds. */
  settle(): Promise<void>
  close(): void
}

/** The gateway as a worker sees it: it alone connects to other machines for sandboxes. */
export interface Gateway {
  /**
   * `hosts`: names, and `*.name` for all below; `null`: every public one. `private_hosts`, each perhaps with a port, need no
   * public address.
   */
  open(
    rules: {
      hosts: readonly string[] | null
      private_hosts: readonly string[]
      git?: GitRules
      models?: ModelRules
    },
    onRefusal: (refusal: EventData<'egress.refused'>) => void,
    onUsed?: (used: ModelUsage) => void,
  ): Promise<Egress>
}

export interface Logger {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** What every execution of a worker shares. */
export interface WorkerContext {
  store: Store
  watch: Watch
  blobs: Blobs
  backend: SandboxBackend
  /** Others that were used here before; only what they left is removed. */
  former_backends: readonly SandboxBackend[]
  harnesses: ReadonlyMap<string, Harness>
  /** The harness of runs that name none. */
  default_harness: string
  /** What agents can do, by name. */
  tools: ReadonlyMap<string, Tool>
  warden: Warden
  gateway: Gateway
  disk: DiskGuard
  log: Logger
  settings: WorkerSettings
}

export interface WorkerSettings {
  pool: string
  /** Where the sandboxes of its backend can be reached. */
  place: string
  slots: number
  /** How long runs may take to a step boundary when the worker stops. */
  grace_ms: number
  /** Idle sandboxes kept at most. */
  max_idle: number
  seal_key: Keyring
  /** The widest egress an environment may ask for. */
  egress: EgressPolicy
  /** Hosts that sandboxes may reach although they have no public address, once an environment allows them. */
  private_hosts: readonly string[]
  /** Whose API hosts of git speak, beside github.com and gitlab.com. */
  git_hosts: Record<string, 'github' | 'gitlab'>
  /** What commands may call where their environment lets them. */
  models: ModelProviders
  /** For all environments, behind their own; only where one person is all there are. */
  git_credential?: GitCredential
  /** Container images that environments may name; only Docker uses them. */
  images: ImagePolicy
  /** The most that environments may ask for. */
  limit_maxima: LimitMaxima
  /** What one run may keep: attachments and artifacts. */
  max_run_files_bytes: number
  /** The service's own files; no repository is read from there. */
  data_dir: string
  /** Local repositories lie below this folder; absent: there are none. */
  local_repos?: string
}
