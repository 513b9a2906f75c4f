import type { APIPromise } from './api-promise.ts'
import { requestJson } from './request.ts'
import type { ListWorkersParams, ListWorkersResponse, Queue, QueueParams } from './schemas.ts'
import type { RequestOptions, Transport } from './transport.ts'

/** `client.workers`: the processes that execute runs, and what waits for them. */
export class Workers {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Workers of the pools that you may use, and the runs they hold that you may see. */
  list(params: ListWorkersParams = {}, options?: RequestOptions): APIPromise<ListWorkersResponse> {
    return requestJson(this.#transport, { method: 'GET', path: '/agent/workers', query: params }, options)
  }

  /** How many runs wait in each pool, and why each of them waits. */
  queue(params: QueueParams = {}, options?: RequestOptions): APIPromise<Queue> {
    return requestJson(this.#transport, { method: 'GET', path: '/agent/queue', query: params }, options)
  }
}
