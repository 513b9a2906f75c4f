/** The gateway as others see it: what it is told, and what it tells. It alone connects to other machines for sandboxes. */

/** Where one sandbox may go. */
export interface EgressRules {
  /** Names, or `*.name` for everything below it, at the ports of the web or with `:port`; `null`: every public host. */
  hosts: readonly string[] | null
  /**
   * Names and addresses that need not be public, at the ports of the web or with `:port`. The operator's word; they have to be
   * in `hosts` all the same.
   */
  private_hosts: readonly string[]
}

export type RefusalReason = 'not_listed' | 'no_name' | 'not_public' | 'port' | 'server_name'
/** What the git gateway refuses, or was refused. */
export type GitRefusalReason = 'repository' | 'push' | 'credential'

export interface Refusal {
  host: string
  port: number
  reason: RefusalReason | GitRefusalReason
  /** One line for whoever wanted to go there; a person or an agent. */
  message: string
}

/** What authenticates to a git host; it stays in the gateway. */
export interface GitCredential {
  /** The secret's name, for messages. */
  name: string
  /** `github.com`, or with a port that is not 443: `git.internal:8443`. */
  host: string
  /** `acme/site`, or `acme/*` for everything below it; `null`: every one of the host. */
  repositories: readonly string[] | null
  username: string | null
  /** A token, or the PEM of a GitHub App's private key where `app` is given. */
  secret: string
  read_only: boolean
  app: { app_id: string; installation_id: string } | null
}

export type GitHostKind = 'github' | 'gitlab'

/** A repository that is reached by the gateway. */
export interface GitRepository {
  /** As in `github.com` and `git.internal:8443`. */
  host: string
  /** As addresses have it, without slashes around it and without `.git`: `acme/site`. */
  path: string
  /** Whether its address ends in `.git`. */
  has_suffix: boolean
}

/** What one sandbox may do with git. */
export interface GitRules {
  repositories: readonly GitRepository[]
  credentials: readonly GitCredential[]
  /** Branches that may be pushed: names, or `prefix*` for all that begin so. */
  branches: readonly string[]
  /** Whose API these hosts speak, beside github.com and gitlab.com. */
  kinds: Record<string, GitHostKind>
}

/** Whose API is spoken, and where its answers say what they cost. */
export type ModelApi = 'openai' | 'anthropic' | 'google'

export interface ModelProvider {
  api: ModelApi
  /** `null`: a server that asks for none. */
  api_key: string | null
  /** With the version, such as `https://api.openai.com/v1`. The operator's word: it may be private, and plain HTTP. */
  base_url: string
}

/** By the names that stand in the gateway's addresses: `/model/<name>/…`. */
export type ModelProviders = Readonly<Record<string, ModelProvider>>

/** Which models one sandbox may call, and how much. */
export interface ModelRules {
  /** What its clients send in place of a key. */
  token: string
  providers: ModelProviders
  /** Input and output together; `null`: as many as it likes. */
  tokens_left: number | null
  /** How long a provider may say nothing; absent: 90 seconds. */
  silent_ms?: number
}

/** What one request has used. */
export interface ModelUsage {
  provider: string
  /** As the provider names it; `null` where its answer did not say. */
  model: string | null
  input_tokens: number
  output_tokens: number
  cached_input_tokens?: number
  cache_write_tokens?: number
  /** The answer did not say it all. */
  estimated?: true
}

/** What becomes of a request that makes a model work, by the request's `id`; `given_up`: by whoever sent it. */
export type ModelCall = { id: string; provider: string } & ModelCallState
export type ModelCallState =
  | { state: 'began' | 'answered' | 'given_up' }
  | { state: 'failed'; failure: ModelCallFailure }

/**
 * Why there was no whole answer. `body`: the beginning of what the provider said, in the middle of its answer where it broke that
 * off; it may quote a key that is not the operator's. `unreadable`: it was a success and held no answer. `code`: Node's name for
 * the fault of the connection.
 */
export type ModelCallFailure =
  | { type: 'refused'; status: number; headers: Record<string, string>; body: string }
  | { type: 'silent'; silent_ms: number }
  | { type: 'unreachable'; message: string; code?: string }
  | { type: 'broken_off'; body?: string }
  | { type: 'unreadable'; status: number; content_type: string; is_empty: boolean }

/** What one sandbox may reach, what it may do there with git, and which models it may call. */
export interface WayRules extends EgressRules {
  /** Whose it is: the log names the run whose traffic keeps the gateway busy. */
  run_id?: string
  git?: GitRules
  models?: ModelRules
}

/** A branch that was pushed, to be shown or merged. */
export interface BranchRequest {
  host: string
  /** Of the repository, as in `acme/site`. */
  path: string
  branch: string
  /** What was pushed as it. Git in a sandbox may have been led elsewhere, so it is looked for. */
  commit: string
  /** Absent: only where the branch can be seen is asked for. */
  pull_request?: {
    /** Where there is no branch of this name, and for `null`, it is the default branch. */
    base: string | null
    title: string
    body: string
    /** One that is open is found, and none is opened. */
    only_open?: boolean
  }
}

/** `url`: for people, of the pull request or else of the branch. `retryable`: it may go well later, without anybody's doing. */
export type BranchAnswer =
  | { url: string; pull_request?: { number: number; url: string } }
  | { failure: string; retryable: boolean }

/** One sandbox's way out. */
export interface Egress {
  /** The Unix socket that its connections go to. */
  socket: string
  /** Who may connect to it; `null`: the service's own user. */
  uid: number | null
  closed: AbortSignal
  /** Finds where a branch can be seen, and opens its pull request unless one is open. Never throws. */
  publish(request: BranchRequest): Promise<BranchAnswer>
  /**
   * Resolves when the listener was told of every model that has answered; of those at work, when they end or after a second. Never
   * throws.
   */
  settle(): Promise<void>
  /** From now on models may use so many tokens; `null`: as many as they like. */
  limit(tokens_left: number | null): void
  close(): void
}

/** A way out whose socket has its name before anybody listens there: what leads to it can be made in advance. */
export interface ReservedWay extends Pick<Egress, 'socket' | 'uid' | 'closed'> {
  /** As `Gateway.open`, once. */
  open: OpenWay
  /** Gives it up, opened or not. */
  close(): void
}

/** `onRefusal` is told of each target once, and of the first fifty only. */
type OpenWay = (
  rules: WayRules,
  onRefusal: (refusal: Refusal) => void,
  models?: Partial<ModelListener>,
) => Promise<Egress>

/** Is told what models cost, and how the calls of them go. */
export interface ModelListener {
  /** Once for each request that generated something. */
  onUsed(used: ModelUsage): void
  onCall(call: ModelCall): void
}

export interface Gateway {
  /** Opens a way out. */
  open: OpenWay
  reserve(): ReservedWay
  close(): Promise<void>
}
