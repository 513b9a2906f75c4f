import type { NewEvent } from '../contract/event.ts'

/**
 * A step of the agent is complete with its usage. What its commands used by the gateway may come at any time, a summary of the
 * conversation is no step, and what is estimated is that of a step without its end: none of them ends anything.
 */
export const endsStep = (event: NewEvent): event is Extract<NewEvent, { type: 'usage' }> =>
  event.type === 'usage' && !event.data.by_gateway && !event.data.by_compaction && !event.data.estimated
