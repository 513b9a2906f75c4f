import type { NewEvent } from '../contract/event.ts'

/** The database refuses an event for good, so the run's log has a gap: the run must not count as done. */
export class EventRefused extends Error {
  override name = 'EventRefused'

  constructor(event: NewEvent, cause: unknown) {
    const call = 'tool_call_id' in event.data ? ` of the call ${event.data.tool_call_id}` : ''
    super(
      `The run's log is incomplete: the database refused an event ${event.type}${call}. The service's log has the reason.`,
      { cause },
    )
  }
}
