import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { BUDGETS } from '../budgets/budgets.ts'

type Handle = (request: IncomingMessage, response: ServerResponse) => void

/**
 * A client may send requests without waiting for their answers (RFC 9112, section 9.3.2). Node hands over all that one read brings,
 * a thousand at once. Here each begins after the answer before it, with a turn of the event loop for other connections between.
 */
export function answerOneByOne(server: Server): void {
  const handlers = server.listeners('request') as Handle[]
  const waiting = new WeakMap<Socket, Array<() => void>>()
  const begin: Handle = (request, response) => {
    response.once('close', () => goOn(request.socket))
    // A stream's answer takes long, and nobody reads the body of a GET meanwhile.
    if (request.method === 'GET' || request.method === 'HEAD') request.resume()
    for (const handle of handlers) handle.call(server, request, response)
  }
  const goOn = (socket: Socket): void => {
    const next = waiting.get(socket)?.shift()
    if (next) setImmediate(next)
    else waiting.delete(socket)
  }
  server.removeAllListeners('request')
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request
    if (socket.destroyed) return
    const line = waiting.get(socket)
    if (!line) {
      waiting.set(socket, [])
      begin(request, response)
    } else if (line.length < BUDGETS.requests_ahead.most) line.push(() => begin(request, response))
    else socket.destroy()
  })
}
