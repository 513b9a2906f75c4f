import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'

export interface RawAnswer {
  status: number
  headers: Headers
  body: string
}

/** HTTP/1.1 as bytes, nothing corrected: the last header closes the connection, so that the answer has an end. */
export function formatRequest(request: {
  method?: string
  path: string
  headers?: ReadonlyArray<readonly [string, string]>
  body?: string | Uint8Array
}): Buffer {
  const { method = 'GET', path, headers = [], body } = request
  const bytes = Buffer.from(body ?? '')
  const names = headers.map(([name]) => name.toLowerCase())
  const lines = headers.map(([name, value]) => `${name}: ${value}`)
  if (!names.includes('host')) lines.push('Host: localhost')
  if (body !== undefined && !names.includes('content-length') && !names.includes('transfer-encoding')) {
    lines.push(`Content-Length: ${bytes.length}`)
  }
  const head = `${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\nConnection: close\r\n\r\n`
  return Buffer.concat([Buffer.from(head, 'latin1'), bytes])
}

/**
 * Sends bytes and reads until the other side closes; `null` when it closed without an answer. `hang_up` closes as soon as
 * everything is written and reads nothing.
 */
export async function exchange(
  base_url: string,
  bytes: Uint8Array,
  options: { hang_up?: boolean } = {},
): Promise<RawAnswer | null> {
  const { hostname, port } = new URL(base_url)
  const socket = connect({ host: hostname, port: Number(port) })
  const chunks: Buffer[] = []
  socket.on('data', (chunk) => chunks.push(chunk))
  // The service may close while it is still being written to.
  socket.on('error', () => {})
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  socket.write(bytes, () => {
    if (options.hang_up) socket.destroy()
  })
  const late = await Promise.race([closed, wait(20_000, 'late', { ref: false })])
  socket.destroy()
  assert(late !== 'late', 'The connection was not closed within 20 s.')
  return parseAnswer(Buffer.concat(chunks).toString('utf8'))
}

function parseAnswer(text: string): RawAnswer | null {
  if (text === '') return null
  const end = text.indexOf('\r\n\r\n')
  const [status_line = '', ...lines] = text.slice(0, end).split('\r\n')
  const headers = new Headers()
  for (const line of lines)
    headers.append(line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1))
  return { status: Number(status_line.split(' ')[1]), headers, body: text.slice(end + 4) }
}
