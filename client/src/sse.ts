export interface ServerSentEvent {
  /** `message` when the stream names no type. */
  event: string
  data: string
  /** The last one the stream gave; empty before the first. */
  last_event_id: string
}

/**
 * Takes an event stream (HTML standard, section 9.2.6) apart, however it was cut into chunks. A line is only read once its
 * end is there, and a CR at the end of a chunk may be half of a CR LF.
 */
export class ServerSentEventParser {
  #rest = ''
  #skip_lf = false
  #event = ''
  #data: string[] = []
  #last_event_id = ''
  /** What the stream asks readers to wait before they reconnect, in milliseconds. */
  retry: number | undefined

  /** The events completed by this chunk of text. */
  push(chunk: string): ServerSentEvent[] {
    const events: ServerSentEvent[] = []
    if (chunk === '') return events
    const text = this.#skip_lf && chunk.startsWith('\n') ? chunk.slice(1) : chunk
    let start = 0
    for (const { index, 0: end } of text.matchAll(/\r\n|\r|\n/g)) {
      const event = this.#line(this.#rest + text.slice(start, index))
      if (event) events.push(event)
      this.#rest = ''
      start = index + end.length
    }
    this.#skip_lf = text.endsWith('\r')
    this.#rest += text.slice(start)
    return events
  }

  #line(line: string): ServerSentEvent | undefined {
    if (line === '') return this.#dispatch()
    const colon = line.indexOf(':')
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (field === 'event') this.#event = value
    else if (field === 'data') this.#data.push(value)
    // The standard takes none that holds NULL.
    else if (field === 'id' && !value.includes('\0')) this.#last_event_id = value
    else if (field === 'retry' && /^\d+$/.test(value)) this.retry = Number(value)
    return undefined
  }

  #dispatch(): ServerSentEvent | undefined {
    const event = {
      event: this.#event || 'message',
      data: this.#data.join('\n'),
      last_event_id: this.#last_event_id,
    }
    const has_data = this.#data.length > 0
    this.#event = ''
    this.#data = []
    return has_data ? event : undefined
  }
}
