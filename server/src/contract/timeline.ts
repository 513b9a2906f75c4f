import { z } from 'zod'
import { Timestamp } from './timestamp.ts'

/** What may happen to a run as a whole, by the names that the wire format has for it. */
export const TimelineEventType = z
  .enum([
    'oz_run_created',
    'oz_run_claimed',
    'worker_container_ready',
    'shared_session_started',
    'agent_started',
    'oz_run_done',
    'oz_run_blocked',
    'oz_run_cancelled',
    'oz_run_failed',
    'oz_run_errored',
    'vm_shutdown',
  ])
  .meta({
    id: 'TimelineEventType',
    description:
      '`oz_run_created`: the run was stored. `oz_run_claimed`: a worker took it. `worker_container_ready`: its sandbox stands. `shared_session_started`: people can follow what happens in it. `agent_started`: the setup is done and the agent works. `oz_run_done`, `oz_run_blocked`, `oz_run_cancelled`, `oz_run_failed`, `oz_run_errored`: its state changed to SUCCEEDED, BLOCKED, CANCELLED, FAILED or ERROR. `vm_shutdown`: the worker stopped everything in the sandbox.',
  })

export const TimelineEvent = z
  .object({
    event_uuid: z.string().meta({ description: 'Stays the same however often the timeline is read.' }),
    event_type: TimelineEventType,
    run_id: z.string(),
    execution_id: z.int().optional().meta({ description: 'The execution it belongs to: from 1.' }),
    occurred_at: Timestamp,
    payload: z
      .record(z.string(), z.unknown())
      .optional()
      .meta({ description: 'Details, such as `attempt`, `worker_id`, `duration_ms` and `status_message`.' }),
  })
  .meta({ id: 'TimelineEvent' })
export type TimelineEvent = z.infer<typeof TimelineEvent>

export const RunTimeline = z
  .object({ events: z.array(TimelineEvent).meta({ description: 'Oldest first.' }) })
  .meta({ id: 'RunTimeline' })
export type RunTimeline = z.infer<typeof RunTimeline>
