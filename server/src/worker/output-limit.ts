import type { NewEvent } from '../contract/event.ts'

/** What the commands of one attempt may print into the log. A log is read whole wherever its conversation is needed. */
export const MAX_OUTPUT_BYTES = 64 * 1024 ** 2

const NOTE = `[Not kept: the commands of this run have printed more than ${MAX_OUTPUT_BYTES / 1024 ** 2} MiB. Write to files and print parts of them.]\n`

/** In place of a call's id, of a step of the setup. */
const SETUP = ''

/**
 * Lets the events of one attempt through until what its commands printed is more than `max_bytes`. From then on each
 * command's output is one line that says so, which its agent reads too; all other events go on.
 */
export function createOutputLimit(max_bytes = MAX_OUTPUT_BYTES): (event: NewEvent) => NewEvent[] {
  let bytes = 0
  /** The last call that was told. */
  let told: string | null = null
  return (event) => {
    if (event.type === 'setup') told = null
    if (event.type !== 'tool.output' && event.type !== 'setup.output') return [event]
    bytes += Buffer.byteLength(event.data.text)
    if (bytes <= max_bytes) return [event]
    const tool_call_id = event.type === 'tool.output' ? event.data.tool_call_id : SETUP
    if (told === tool_call_id) return []
    told = tool_call_id
    if (event.type === 'setup.output')
      return [{ type: 'setup.output', data: { stream: 'stderr', text: NOTE } }]
    return [{ type: 'tool.output', data: { tool_call_id, stream: 'stderr', text: NOTE } }]
  }
}
