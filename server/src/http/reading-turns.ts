import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FastifyRequest } from 'fastify'
import { ownerOfRequest } from './budget-owner.ts'
import { workForRequest } from './request-work.ts'
import { Turns } from './turns.ts'

/** Smaller bodies take a few milliseconds. */
const SMALL_BODY = 32 * 1024

/**
 * Reads large bodies one after another. Parsing or checking one takes up to a tenth of a second, and bodies that arrive together
 * would be one block of seconds. Owners take turns, and everything else has a turn of the event loop between two of them.
 */
export class ReadingTurns {
  readonly #turns = new Turns(1)

  /** Does a piece of work on a request's body when its turn comes. */
  async take<T>(request: FastifyRequest, task: () => T): Promise<T> {
    if ((request.body_bytes ?? 0) <= SMALL_BODY) return workForRequest(request, task)
    return this.#turns.take(request.hook?.editor.uid ?? ownerOfRequest(request), async () => {
      await nextTurn()
      return workForRequest(request, task)
    })
  }
}
