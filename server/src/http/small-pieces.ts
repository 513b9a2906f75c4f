import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** Pieces of a body that may be of any size. */
const FREE = 500
/** Bytes that pieces have on average beyond that. */
const SMALLEST = 16

/**
 * Refuses bodies in a great many tiny pieces. Each chunk of a chunked body is a piece of its own, and Node hands over all that one
 * read brings at once: ten thousand of a byte, from thirty connections a second of work and a gigabyte. So they are counted as they
 * are parsed, before anybody reads them, and what comes behind the refusal is dropped.
 */
export function refuseSmallPieces(server: Server, refuse: (socket: Socket) => void): void {
  server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    if (request.headers['transfer-encoding'] === undefined) return
    const push = request.push.bind(request)
    let pieces = 0
    let bytes = 0
    request.push = (piece: Buffer | null, encoding) => {
      pieces += 1
      bytes += piece?.length ?? 0
      if (piece === null || pieces <= FREE || bytes >= pieces * SMALLEST) return push(piece, encoding)
      request.push = () => false
      // Its answer has begun, or the answer to a request before it has not ended.
      if (response.headersSent || !response.socket) request.socket.destroy()
      else refuse(request.socket)
      return false
    }
  })
}
