import type { TlsOptions } from 'node:tls'
import type { Blobs } from '../blobs/blobs.ts'
import type { Actor } from '../contract/actor.ts'
import type { HarnessTraits } from '../contract/harness-fields.ts'
import type { ImagePolicy } from '../contract/image.ts'
import type { LimitMaxima } from '../contract/limits.ts'
import type { MergePullRequestRequest, PullRequestItem } from '../contract/pull-request.ts'
import type {
  ListBranchesQuery,
  ListBranchesResponse,
  ListRepositoriesQuery,
  ListRepositoriesResponse,
} from '../contract/repository.ts'
import type { Setting } from '../contract/setting.ts'
import type { WebhookEvent, WebhookTest } from '../contract/webhook.ts'
import type { StoredControlPlane } from '../control-plane/stored-control-plane.ts'
import type { Keyring } from '../sealing/keyring.ts'
import type { Store } from '../store/db.ts'
import type { OpenRunMaxima } from '../store/quotas.ts'
import type { RunRow } from '../store/runs.ts'
import type { Watch } from '../store/watch.ts'
import type { DeliveryRow } from '../store/webhook-deliveries.ts'
import type { WebhookRow } from '../store/webhooks.ts'
import type { AuditWriter } from './audit.ts'
import type { Authenticator } from './auth.ts'
import type { Metrics } from './metrics.ts'
import type { ReadingTurns } from './reading-turns.ts'
import type { Bodies } from './receive-body.ts'
import type { RequestLimits, RequestMaxima } from './request-limits.ts'
import type { SessionLinks } from './session-access.ts'
import type { SignedLinks } from './signed-link.ts'
import type { StreamLimit } from './stream-limit.ts'

/** What the routes work with; made once by `main.ts`. */
export interface HttpContext {
  store: Store
  watch: Watch
  blobs: Blobs
  pulls: PullRequests
  repositories: Repositories
  /** The control plane of workers over HTTPS; `null`: this process takes none. */
  plane: StoredControlPlane | null
  settings: HttpSettings
  /** Why this process is not ready, or `null`. */
  readiness: () => Promise<Readiness>
}

/** At git hosts, as somebody's secrets reach them. Both throw `not_authorized` for viewers. */
export interface Repositories {
  list(actor: Actor, query: ListRepositoriesQuery): Promise<ListRepositoriesResponse>
  branches(actor: Actor, query: ListBranchesQuery): Promise<ListBranchesResponse>
}

/** Of a run, at their git hosts. */
export interface PullRequests {
  list(run: RunRow): Promise<PullRequestItem[]>
  /** Throws `AppError` where it is not merged. */
  merge(run: RunRow, actor: Actor, wish: MergePullRequestRequest): Promise<PullRequestItem>
}

/** Takes lines of JSON. */
export interface LogStream {
  write(line: string): void
}

export interface HttpSettings {
  /** What links are made of: no trailing slash. Read at each use: in `dev` the port is known only when listening. */
  readonly public_url: string
  /** What links to files are made of: the public URL, or an origin of their own. */
  readonly downloads_url: string
  /** Names this service answers to, lower case, besides the public URL's; loopback names always. */
  allowed_hosts: readonly string[]
  /** Networks that requests of agents come from, as the operator says. */
  egress_ranges: readonly string[]
  /** For links. */
  secret_key: string
  /** For what is sealed. */
  keyring: Keyring
  trust_proxy: boolean
  version: string
  /** The settings of this process, as admins see them. */
  in_force: readonly Setting[]
  log_level: string
  /** Default: standard error. */
  log_stream?: LogStream
  /** How often a stream asks whether its key is still good; default: every 30 s. */
  key_check_ms?: number
  /** Default pool of runs whose config names none. */
  default_pool: string
  /** What runs may name as their harness. */
  harnesses: readonly HarnessTraits[]
  /** Why no event would ever be sent to an address; `null`: it may be. */
  whyNeverSent: (url: string) => string | null
  /** Sends a test to a webhook once, and says what came back. Throws if its secret does not open. */
  sendWebhookTest: (
    test: Pick<WebhookRow, 'webhook_id' | 'url' | 'format' | 'scope' | 'set_up_by' | 'sealed'> & {
      delivery_id: string
      event: WebhookEvent
    },
  ) => Promise<Pick<DeliveryRow, 'response_status' | 'error'> & Omit<WebhookTest, 'delivery'>>
  /** Whether a git host speaks GitHub's API. */
  isGitHub: (host: string) => boolean
  /** Images that environments may name, where this process was told; the worker has the last word. */
  images?: ImagePolicy
  /** Whether the worker of this process has an image, by its name in full; true where it cannot tell. */
  hasImage?: (image: string) => Promise<boolean>
  /** Whether a local repository may lie there, where this process was told what workers open; the worker has the last word. */
  mayOpen?: (local_path: string) => boolean
  /** The most that environments may ask for. */
  limit_maxima: LimitMaxima
  /** The least that may lie between two due times of a schedule. */
  min_schedule_seconds: number
  /** Runs that may be open at once. */
  open_runs: OpenRunMaxima
  /** Of each key. */
  request_maxima: RequestMaxima
  /** Opens `/metrics` beside keys. */
  metrics_token?: string
  /** What one run may keep: attachments and artifacts. */
  max_run_files_bytes: number
  /** The largest file that a worker may store. */
  max_file_bytes: number
  tls?: TlsOptions
}

export interface Readiness {
  ready: boolean
  /** What is missing and what helps, in plain words; anybody may read it. */
  reason?: string
  database: { kind: string; reachable: boolean; migrated: boolean }
  [detail: string]: unknown
}

/** What every route file is handed. */
export interface Services extends HttpContext {
  audit: AuditWriter
  bodies: Bodies
  reading: ReadingTurns
  downloads: StreamLimit
  access: Authenticator
  limits: RequestLimits
  links: SignedLinks
  sessions: SessionLinks
  metrics: Metrics
  /** Aborted when the service stops: open streams end. */
  closing: AbortSignal
}
