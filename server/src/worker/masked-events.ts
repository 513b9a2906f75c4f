import type { NewEvent } from '../contract/event.ts'
import { Mask } from '../sealing/mask.ts'

/**
 * Takes the values that an execution was given out of its events. What a command prints comes in pieces, so the end of a
 * piece that may be the beginning of a value waits for the next one.
 */
export class MaskedEvents {
  #mask = new Mask()
  readonly #streams = new Map<string, { data: OutputData; stream: ReturnType<Mask['stream']> }>()

  /** Call it before anything that knows the values can run. */
  hide(values: readonly string[]): void {
    this.#mask = new Mask(values)
  }

  events(event: NewEvent): NewEvent[] {
    if (event.type === 'tool.output') return this.#output(event.data)
    const masked = { ...event, data: this.#mask.json(event.data) } as NewEvent
    return event.type === 'tool.result' ? [...this.end(event.data.tool_call_id), masked] : [masked]
  }

  /** What waits for a next piece that does not come; of one call or of all. */
  end(tool_call_id?: string): NewEvent[] {
    return [...this.#streams].flatMap(([key, { data, stream }]) => {
      if (tool_call_id !== undefined && data.tool_call_id !== tool_call_id) return []
      this.#streams.delete(key)
      return outputOf(data, stream.end())
    })
  }

  /** Any other value that is stored: how the run ended, say. */
  json<T>(value: T): T {
    return this.#mask.json(value)
  }

  /** A text that goes on, without what may be the beginning of a value. */
  open(text: string): string {
    return this.#mask.stream().push(text)
  }

  #output(data: OutputData): NewEvent[] {
    const key = `${data.stream} ${data.tool_call_id}`
    const open = this.#streams.get(key) ?? { data, stream: this.#mask.stream() }
    this.#streams.set(key, open)
    return outputOf(data, open.stream.push(data.text))
  }
}

type OutputData = Extract<NewEvent, { type: 'tool.output' }>['data']

const outputOf = (data: OutputData, text: string): NewEvent[] =>
  text === '' ? [] : [{ type: 'tool.output', data: { ...data, text } }]
