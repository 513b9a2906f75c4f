import assert from 'node:assert/strict'
import type { RunEvent } from '../../src/contract/event.ts'

export interface StreamMessage {
  id?: string
  event?: string
  data?: string
}

/** The messages of a stream, as the HTML standard reads them; ends with the stream. Leaving the loop hangs up. */
export async function* readMessages(response: Response): AsyncGenerator<StreamMessage> {
  assert.equal(response.status, 200)
  assert.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  assert(response.body)
  let text = ''
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    text += chunk
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const message = parseMessage(text.slice(0, end))
      text = text.slice(end + 2)
      if (message.data !== undefined) yield message
    }
  }
  assert.equal(text, '', 'The stream was cut within a message.')
}

function parseMessage(block: string): StreamMessage {
  const message: StreamMessage = {}
  for (const line of block.split('\n')) {
    const [, field, value = ''] = /^(id|event|data|retry|): ?(.*)$/.exec(line) ?? []
    assert(field !== undefined, `Not a line of an event stream: ${line}`)
    if (field === 'id' || field === 'event' || field === 'data') message[field] = value
  }
  return message
}

/** The stored event of a message; asserts that id and type say the same as the data. */
export function eventOf({ id, event, data = '' }: StreamMessage): RunEvent {
  const parsed = JSON.parse(data) as RunEvent
  assert.equal(id, String(parsed.sequence))
  assert.equal(event, parsed.type)
  return parsed
}

/** A whole stream: its stored events, and its end message. */
export async function readToEnd(response: Response): Promise<{ events: RunEvent[]; end: unknown }> {
  const events: RunEvent[] = []
  let end: unknown
  for await (const message of readMessages(response)) {
    assert.equal(end, undefined, 'There was a message after the end.')
    if (message.event === 'end') end = JSON.parse(message.data ?? '')
    else if (message.event !== 'message.assistant.delta') events.push(eventOf(message))
  }
  return { events, end }
}
