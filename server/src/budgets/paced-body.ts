import { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Turns } from './turns.ts'

/** Below it, handling a piece costs more than its bytes do. */
const SMALL = 1024
/** Small pieces that are handled in one turn of the event loop: a few milliseconds of work. */
export const PIECES_A_TURN = 1_000

/**
 * Bodies as they arrive. Each chunk of a chunked body is a piece of its own, so a connection can bring ten thousand of a byte at
 * once, and twenty connections half a second of work. Those who send many small pieces take turns, one in each turn of the event
 * loop, and nothing is read from the others meanwhile.
 */
export class PacedBodies {
  readonly #turns = new Turns(1)

  async *read(payload: Readable, owner: string): AsyncGenerator<Buffer> {
    // Requests of our own, by `inject`, have no connection.
    const socket = payload instanceof IncomingMessage ? payload.socket : null
    let small = 0
    for await (const piece of payload.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      yield piece
      if (piece.length >= SMALL) continue
      small += 1
      if (small < PIECES_A_TURN) continue
      small = 0
      socket?.pause()
      await this.#turns.take(owner, () => nextTurn())
      // Beyond that Node has stopped reading by itself.
      if (payload.readableLength < payload.readableHighWaterMark) socket?.resume()
    }
  }
}
