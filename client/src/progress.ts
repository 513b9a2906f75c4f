import { RunyardError } from './errors.ts'
import type { MessageDelta, MessageDeltaEvent, RunEvent, RunStreamEvent } from './schemas.ts'
import type { ServerSentEvent } from './sse.ts'

/** What the reader of a stream has already been given. */
export class Progress {
  sequence: number
  /** Characters passed on of each message that is being written. */
  readonly #open = new Map<string, number>()

  constructor(after: number) {
    this.sequence = after
  }

  /** The event to pass on; nothing when it is known already, or none that this version understands. */
  accept(message: ServerSentEvent): RunStreamEvent | undefined {
    const data = parseData(message.data)
    if (message.event === 'message.assistant.delta')
      return isDelta(data) ? this.#acceptDelta(data) : undefined
    // A newer service may send more that is not stored, as deltas are not.
    if (!isEvent(data) || data.sequence <= this.sequence) return undefined
    this.sequence = data.sequence
    if (data.type === 'message.assistant') this.#open.delete(String(fieldOf(data.data, 'message_id')))
    // The next attempt writes its messages anew, and so does the next debug turn.
    if (data.type === 'attempt.lost' || data.type === 'debug.ended') this.#open.clear()
    return data
  }

  /** After a reconnect the service sends the text of open messages from the start. */
  #acceptDelta({ run_id, message_id, offset, text }: Delta): MessageDeltaEvent | undefined {
    const known = this.#open.get(message_id) ?? 0
    const end = offset + text.length
    if (end <= known) return undefined
    this.#open.set(message_id, end)
    const from = Math.max(offset, known)
    return {
      type: 'message.assistant.delta',
      run_id,
      data: { message_id, offset: from, text: text.slice(from - offset) },
    }
  }
}

type Delta = MessageDelta & { run_id: string }

const fieldOf = (data: unknown, name: string): unknown =>
  typeof data === 'object' && data !== null ? Reflect.get(data, name) : undefined

const isEvent = (data: unknown): data is RunEvent => Number.isInteger(fieldOf(data, 'sequence'))

const isDelta = (data: unknown): data is Delta =>
  typeof fieldOf(data, 'message_id') === 'string' &&
  Number.isInteger(fieldOf(data, 'offset')) &&
  typeof fieldOf(data, 'text') === 'string'

function parseData(data: string): unknown {
  try {
    return JSON.parse(data)
  } catch (cause) {
    throw new RunyardError('The event stream holds something that is not JSON.', { cause })
  }
}
