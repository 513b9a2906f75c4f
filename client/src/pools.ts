import { PoolList } from './lists.ts'
import type { ListPoolsParams } from './schemas.ts'
import type { RequestOptions, Transport } from './transport.ts'

const PATH = '/agent/pools'

/** `client.pools`: workers that take the same runs. */
export class Pools {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * Pools that you may name in `config.worker_host`, and what their workers are doing. `for await (const pool of pools.list())`
   * goes through all pages, by name; `await pools.list()` is the first one.
   */
  list(params: ListPoolsParams = {}, options?: RequestOptions): PoolList {
    return new PoolList(this.#transport, { path: PATH, query: params }, options)
  }
}
