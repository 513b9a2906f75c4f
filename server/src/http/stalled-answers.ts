import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply } from 'fastify'

/** A reader may take nothing for so many looks: a minute. */
const LOOKS = 4
const LOOK_MS = 15_000
/** What a slow reader takes in a minute. A connection only shows that the whole of what it was given was taken. */
const PIECE_BYTES = 64 * 1024

/**
 * Ends connections whose reader takes nothing of an answer for a minute, whatever the answer is: it holds its memory and the
 * connection for as long. What the reader sends meanwhile does not count, so Node's own limit on silent connections is no help.
 */
export function endStalledAnswers(app: FastifyInstance): void {
  const open = new Map<ServerResponse, { taken: number; looks: number }>()
  app.addHook('onRequest', async (_request, { raw }) => {
    open.set(raw, { taken: 0, looks: 0 })
    raw.once('close', () => open.delete(raw))
  })
  app.addHook('onSend', async (_request, reply, payload) =>
    typeof payload === 'string' || Buffer.isBuffer(payload) ? inPieces(reply, payload) : payload,
  )
  const timer = setInterval(() => {
    for (const [{ socket }, seen] of open) {
      if (!socket) continue
      const taken = socket.bytesWritten - socket.writableLength
      seen.looks = socket.writableLength === 0 || taken !== seen.taken ? 0 : seen.looks + 1
      seen.taken = taken
      if (seen.looks >= LOOKS) socket.destroy()
    }
  }, LOOK_MS).unref()
  app.addHook('onClose', async () => clearInterval(timer))
}

function inPieces(reply: FastifyReply, payload: string | Buffer): string | Buffer | Readable {
  if (payload.length <= PIECE_BYTES) return payload
  // One that many read at once is not copied for each.
  const bytes = typeof payload === 'string' ? Buffer.from(payload) : payload
  reply.header('content-length', bytes.length)
  return Readable.from(cut(bytes), { objectMode: false, highWaterMark: PIECE_BYTES })
}

function* cut(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES)
}
