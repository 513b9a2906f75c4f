import type { RunState } from '../contract/state.ts'

/** Why something was not done, in words for the agent. */
export interface Refused {
  refusal: string
}

/** What is to become of what a run changed. */
export interface PushRequest {
  /** Of the pull request, and of the commit that holds what was not committed. */
  title: string
  /** Of the pull request, in Markdown. */
  body?: string
  /** Of one repository, below the workspace; absent: of all that can be pushed. */
  directory?: string
  pull_request: boolean
  /** What the run pushed before and has not changed since is left alone: it may have been merged, and its branch removed. */
  only_new?: boolean
}

/** `url`: for people. Nothing is pushed where nothing was changed, or where a pull request with the same files is open (`is_linked`). `retryable`: it may go well later, without anybody's doing. */
export type PushOutcome =
  | {
      pushed: Array<{
        repository: string
        branch: string
        commit: string
        url: string
        is_linked?: true | undefined
      }>
    }
  | { failure: string; retryable: boolean }

/** What a run keeps where people find it, at once. */
export interface Keeper {
  /** In Markdown, in place of the plan before. `title`: how far it is. */
  keepPlan(plan: { title: string; text: string }): Promise<Refused | null>
  attach(file: AttachedFile): Promise<{ filepath: string; mime_type: string; size_bytes: number } | Refused>
  /** `known`: the run has reported this address before. */
  report(reference: {
    url: string
    reference_type: string
    title?: string
  }): Promise<{ known: boolean } | Refused>
}

export interface AttachedFile {
  /** Absolute, in the sandbox. */
  path: string
  title?: string
  description?: string
  /** It is an image, to be shown as one. */
  screenshot: boolean
  /** Ends it in the middle, with a refusal. */
  signal: AbortSignal
}

/** A run to be made by an agent. What it does not say is as with the run that asks. */
export interface ChildRequest {
  prompt: string
  title?: string
  model_id?: string
  skill?: string
}

export interface ChildState {
  run_id: string
  title: string
  state: RunState
  status_message?: string
  /** Since it was started, in whole seconds. */
  working_seconds?: number
}

/** A run below another one, as its agent is told of it. */
export interface ChildReport extends ChildState {
  /** The last thing that its agent said. */
  last_message?: string
  result?: unknown
  /** One line each. */
  artifacts: string[]
}

/** The runs below this one. */
export interface Children {
  /** Creates one, once for each call. */
  spawn(request: ChildRequest, tool_call_id: string): Promise<{ run_id: string } | Refused>
  list(): Promise<ChildState[]>
  /** Waits until the run has ended or waits for a person, at most so long. `null`: no such run is below this one. */
  read(run_id: string, wait: { wait_ms: number; signal: AbortSignal }): Promise<ChildReport | null>
}

/** What the worker does for tools, outside of the sandbox. Each is absent where the execution cannot have it. */
export interface ToolServices {
  /** Pushes what was changed, as the run's branch; absent where the environment has no repository that can be pushed. */
  push?: (request: PushRequest) => Promise<PushOutcome>
  keeper?: Keeper
  /** A `fetch` by the run's network policy, which follows no redirect; absent where that lets nothing out. */
  fetchPage?: (url: URL, init: { headers: Record<string, string>; signal: AbortSignal }) => Promise<Response>
  children?: Children
}
