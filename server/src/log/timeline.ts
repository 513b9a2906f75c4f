import { v5 } from 'uuid'
import type { RunEvent } from '../contract/event.ts'
import { isWorking, type RunState } from '../contract/state.ts'
import type { TimelineEvent } from '../contract/timeline.ts'

/** The types of events that the timeline is made of. */
export const TIMELINE_TYPES = ['run.state', 'attempt.started', 'attempt.lost', 'setup'] as const

/** When a worker had stopped everything of an execution and let go of the run. The log of a run ends before that. */
export interface Release {
  execution: number
  attempt: number
  released_at: Date
}

const ENDS: Partial<Record<RunState, TimelineEvent['event_type']>> = {
  SUCCEEDED: 'oz_run_done',
  BLOCKED: 'oz_run_blocked',
  CANCELLED: 'oz_run_cancelled',
  FAILED: 'oz_run_failed',
  ERROR: 'oz_run_errored',
}

/** What happened to a run as a whole, oldest first. */
export function readTimeline(
  run_id: string,
  log: readonly RunEvent[],
  releases: readonly Release[],
): TimelineEvent[] {
  let execution = 1
  const events = log.flatMap((event) => {
    if (event.type === 'run.state' || event.type === 'attempt.started') execution = event.data.execution
    return describe(event).map(
      ({ event_type, payload }): TimelineEvent => ({
        event_uuid: idOf(run_id, `${event.sequence} ${event_type}`),
        event_type,
        run_id,
        execution_id: execution,
        occurred_at: event.occurred_at,
        payload,
      }),
    )
  })
  for (const { execution, attempt, released_at } of releases)
    events.push({
      event_uuid: idOf(run_id, `released ${execution} ${attempt} ${released_at.toISOString()}`),
      event_type: 'vm_shutdown',
      run_id,
      execution_id: execution,
      occurred_at: released_at.toISOString(),
      payload: { attempt },
    })
  // Both parts are in order, and the sort is stable: only releases find their places.
  return events.sort((one, other) => Date.parse(one.occurred_at) - Date.parse(other.occurred_at))
}

type Described = Pick<TimelineEvent, 'event_type'> & { payload: Record<string, unknown> }

function describe(event: RunEvent): Described[] {
  if (event.type === 'attempt.started') {
    const { attempt, worker_id, pool } = event.data
    return [{ event_type: 'oz_run_claimed', payload: { attempt, worker_id, pool } }]
  }
  if (event.type === 'attempt.lost') return [{ event_type: 'vm_shutdown', payload: event.data }]
  if (event.type === 'setup') {
    const { phase, status, name, duration_ms } = event.data
    if (phase !== 'sandbox' || status !== 'finished') return []
    const payload = { sandbox: name, ...(duration_ms === undefined ? {} : { duration_ms }) }
    // The log can be followed from its first event on; from here on it is the sandbox that is seen in it.
    return [
      { event_type: 'worker_container_ready', payload },
      { event_type: 'shared_session_started', payload: { session_id: event.run_id } },
    ]
  }
  if (event.type !== 'run.state') return []
  const { state, previous_state, attempt, status_message } = event.data
  if (state === 'QUEUED' && previous_state === undefined)
    return [{ event_type: 'oz_run_created', payload: {} }]
  // A worker that stops hands the run back and says why; one that was lost says nothing, and `attempt.lost` stands before it.
  if (state === 'QUEUED' && previous_state && isWorking(previous_state) && status_message)
    return [{ event_type: 'vm_shutdown', payload: { attempt, reason: status_message.message } }]
  if (state === 'INPROGRESS' && previous_state === 'CLAIMED')
    return [{ event_type: 'agent_started', payload: { attempt } }]
  const event_type = ENDS[state]
  if (!event_type) return []
  return [{ event_type, payload: { attempt, ...(status_message ? { status_message } : {}) } }]
}

/** Made of what it identifies, so that nothing has to be stored (RFC 9562, version 5). */
const idOf = (run_id: string, name: string): string => v5(`timeline ${name}`, run_id)
