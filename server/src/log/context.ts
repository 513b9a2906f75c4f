import type { NewEvent } from '../contract/event.ts'
import { closeOpenCalls, MARK } from './interruption.ts'

/** What a call of another run is told to have ended with: it may still be at work, elsewhere. */
export const OTHER_RUN = `${MARK}the call belongs to another run of this conversation and had not ended; check what happened before repeating it`

/**
 * What a run is told of the conversation before it, closed: calls of other runs without a result get one that says so, right
 * behind the run's events. Nothing of it is left to do. Files that came with its messages lie in
 * another workspace, but for those of a run whose workspace this one goes on in.
 */
export function closeContext(
  events: ReadonlyArray<NewEvent & { run_id?: string }>,
  continued_run_id?: string,
): NewEvent[] {
  return [
    ...events
      .filter((event) => event.type !== 'setup')
      .map((event) =>
        continued_run_id !== undefined && event.run_id === continued_run_id ? event : withoutFiles(event),
      ),
    ...closeOpenCalls(events, OTHER_RUN),
  ]
}

function withoutFiles(event: NewEvent): NewEvent {
  if (event.type !== 'message.user' || !event.data.attachments?.length) return event
  const { attachments, ...data } = event.data
  const names = attachments.map(({ file_name }) => file_name).join(', ')
  return {
    ...event,
    data: {
      ...data,
      text: `${data.text}\n\n[Came with this message and is not in this workspace: ${names}]`,
    },
  }
}
