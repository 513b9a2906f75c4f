import { isDeepStrictEqual } from 'node:util'
import type { EventData, NewEvent } from '../contract/event.ts'
import type { Outcome } from '../harness/harness.ts'
import { MARK } from '../log/interruption.ts'
import { Mask, type MaskedStream } from '../sealing/mask.ts'

/** What the service itself says in an event: ids and words of the contract, which a value may happen to be as well. */
const OWN_WORDS = new Set([
  'artifact_type',
  'artifact_uid',
  'error_code',
  'followup_id',
  'kept_from',
  'kept_messages',
  'message_id',
  'mime_type',
  'model_id',
  'phase',
  'reason',
  'status',
  'tool_call_id',
])

/**
 * Takes the values that an execution was given out of its events. What a command prints comes in pieces, so the end of a
 * piece that may be the beginning of a value waits for the next one.
 */
export class MaskedEvents {
  #mask = new Mask()
  readonly #streams = new Map<string, OpenOutput>()

  /** Call it before anything that knows the values can run. */
  async hide(values: readonly string[]): Promise<void> {
    this.#mask = await Mask.of(values)
  }

  events(event: NewEvent): NewEvent[] {
    if (event.type === 'tool.output') return this.#output(event.data)
    const masked = { ...event, data: this.#fields(event.data) } as NewEvent
    if (event.type === 'tool.call' && masked.type === 'tool.call' && !isSameCall(event.data, masked.data))
      masked.data.masked = true
    if (event.type !== 'tool.result' || masked.type !== 'tool.result') return [masked]
    const { tool_call_id, output } = event.data
    // By this mark it is known that nobody knows how the call ended.
    if (output?.startsWith(MARK)) masked.data.output = MARK + this.#mask.text(output.slice(MARK.length))
    return [...this.end(tool_call_id), masked]
  }

  /** What waits for a next piece that does not come; of one call or of all. */
  end(tool_call_id?: string): NewEvent[] {
    return [...this.#streams].flatMap(([key, open]) => {
      if (tool_call_id !== undefined && open.about.tool_call_id !== tool_call_id) return []
      this.#streams.delete(key)
      return tell(open, open.stream.end())
    })
  }

  /** How the run ended. */
  outcome<T extends Outcome>(outcome: T): T {
    const { status_message, result } = outcome
    return {
      ...outcome,
      ...(status_message && { status_message: this.#fields(status_message) }),
      ...(result === undefined ? {} : { result: this.#mask.json(result) }),
    }
  }

  text(text: string): string {
    return this.#mask.text(text)
  }

  /** For a text that comes in pieces. */
  stream(): MaskedStream {
    return this.#mask.stream()
  }

  #fields<T extends object>(data: T): T {
    return Object.fromEntries(
      Object.entries(data).map(([name, value]) => [
        name,
        OWN_WORDS.has(name)
          ? value
          : // Its keys are names of providers, who are given it back.
            this.#mask.json<unknown>(value, name === 'provider_metadata' ? 'kept' : 'masked'),
      ]),
    ) as T
  }

  #output({ text, ...about }: OutputData): NewEvent[] {
    const key = `${about.stream} ${about.tool_call_id}`
    const open = this.#streams.get(key) ?? { about, stream: this.#mask.stream() }
    this.#streams.set(key, open)
    const before = about.after_gap ? tell(open, open.stream.gap()) : []
    if (about.after_gap) open.about = about
    return [...before, ...tell(open, open.stream.push(text))]
  }
}

/** What is stored in another way than it was called must never be executed from there. */
const isSameCall = (call: EventData<'tool.call'>, stored: EventData<'tool.call'>): boolean =>
  call.name === stored.name && isDeepStrictEqual(call.input, stored.input)

type OutputData = Extract<NewEvent, { type: 'tool.output' }>['data']

/** `about`: what the next event of its output says besides the text. */
interface OpenOutput {
  about: Omit<OutputData, 'text'>
  stream: MaskedStream
}

function tell(open: OpenOutput, text: string): NewEvent[] {
  if (text === '') return []
  const { about } = open
  const { after_gap, ...rest } = about
  open.about = rest
  return [{ type: 'tool.output', data: { ...about, text } }]
}
