import type { NewEvent } from '../contract/event.ts'

/** A step of the agent is complete with its usage. What its commands used by the gateway may come at any time, and ends nothing. */
export const endsStep = (event: NewEvent): boolean => event.type === 'usage' && !event.data.by_gateway
