import type { ArtifactItem } from '../contract/artifact.ts'
import { RESTING_STATES, type RunState } from '../contract/state.ts'
import type { ChildReport, ChildRequest, Children, ChildState, Refused } from '../harness/tool-services.ts'
import type { ChildRow } from '../store/child-runs.ts'
import type { RunRow } from '../store/runs.ts'
import type { WorkerContext } from './context.ts'
import type { SpawnRun } from './control-plane.ts'
import type { EventWriter } from './event-writer.ts'
import type { FencedStore } from './fenced-store.ts'

/** A run that nobody has taken may wait for the very slot that its parent has. */
const QUEUED_MS = 60_000
/** What is said of a change is a hint. */
const LOOK_MS = 2_000
const MAX_LISTED = 50
const MAX_ARTIFACTS = 50

interface ChildServices {
  context: Pick<WorkerContext, 'plane'>
  store: FencedStore
  run: RunRow
  masked: Pick<EventWriter['masked'], 'text'>
  spawnRun: SpawnRun
}

/** The runs that an agent makes and reads: below its own, and with no more to see than that has. */
export class RunChildren implements Children {
  readonly #services: ChildServices

  constructor(services: ChildServices) {
    this.#services = services
  }

  /** The prompt of a run is stored as it is, so what is hidden in this one is hidden in it. */
  spawn(request: ChildRequest, tool_call_id: string): Promise<{ run_id: string } | Refused> {
    const { store, masked, spawnRun } = this.#services
    const hide = (text: string) => masked.text(text)
    const { prompt, title, model_id, skill } = request
    const wish: ChildRequest = {
      prompt: hide(prompt),
      ...(title === undefined ? {} : { title: hide(title) }),
      ...(model_id === undefined ? {} : { model_id: hide(model_id) }),
      ...(skill === undefined ? {} : { skill: hide(skill) }),
    }
    return store.repeating(() => spawnRun(store.lease, wish, tool_call_id))
  }

  async list(): Promise<ChildState[]> {
    const { store, run } = this.#services
    const rows = await store.listChildren(run, MAX_LISTED)
    return rows.filter((row) => this.#isVisible(row)).map(stateOf)
  }

  async read(
    run_id: string,
    { wait_ms, signal }: { wait_ms: number; signal: AbortSignal },
  ): Promise<ChildReport | null> {
    const began = performance.now()
    for (;;) {
      const row = await this.#find(run_id)
      if (!row) return null
      const limit_ms = row.state === 'QUEUED' ? Math.min(wait_ms, QUEUED_MS) : wait_ms
      const left_ms = limit_ms - (performance.now() - began)
      if (isResting(row.state) || left_ms <= 0 || signal.aborted) return this.#report(row)
      await this.#change(run_id, Math.min(left_ms, LOOK_MS), signal)
    }
  }

  async #find(run_id: string): Promise<RunRow | null> {
    const { store, run } = this.#services
    const row = await store.findRun(run_id, run.principal_id)
    return row?.ancestor_run_ids.includes(run.run_id) && this.#isVisible(row) ? row : null
  }

  /** What a run of the team reads the team reads, too. */
  #isVisible({ scope }: Pick<RunRow, 'scope'>): boolean {
    return this.#services.run.scope === 'User' || scope === 'Team'
  }

  async #report(row: RunRow): Promise<ChildReport> {
    const last_message = await this.#services.store.readLastMessage(row.run_id)
    return {
      ...stateOf(row),
      ...(last_message === null ? {} : { last_message }),
      ...(row.result === null ? {} : { result: row.result }),
      artifacts: row.artifacts.slice(0, MAX_ARTIFACTS).map(describeArtifact),
    }
  }

  async #change(run_id: string, most_ms: number, signal: AbortSignal): Promise<void> {
    const changed = Promise.withResolvers<void>()
    const timer = setTimeout(changed.resolve, most_ms)
    const stop = () => changed.resolve()
    const unwatch = this.#services.context.plane.hints.onRun(run_id, stop)
    signal.addEventListener('abort', stop, { once: true })
    await changed.promise
    signal.removeEventListener('abort', stop)
    unwatch()
    clearTimeout(timer)
  }
}

const isResting = (state: RunState): boolean => (RESTING_STATES as readonly RunState[]).includes(state)

const stateOf = ({ run_id, title, state, status_message, started_at }: ChildRow | RunRow): ChildState => ({
  ...{ run_id, title, state },
  ...(status_message ? { status_message: status_message.message } : {}),
  ...(started_at && !isResting(state)
    ? { working_seconds: Math.max(0, Math.round((Date.now() - started_at.getTime()) / 1_000)) }
    : {}),
})

function describeArtifact({ artifact_type, data }: ArtifactItem): string {
  const what =
    'url' in data ? data.url : 'filepath' in data ? data.filepath : 'title' in data ? data.title : undefined
  return [artifact_type, what].filter(Boolean).join(' ')
}
