import type { APIPromise } from './api-promise.ts'
import { requestJson } from './request.ts'
import type { Usage, UsageParams } from './schemas.ts'
import type { RequestOptions, Transport } from './transport.ts'

/** `client.usage` */
export class UsageResource {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** What runs have come to, by day, agent, model and environment: of 30 days, unless the parameters say otherwise. */
  get(params: UsageParams = {}, options?: RequestOptions): APIPromise<Usage> {
    return requestJson(this.#transport, { method: 'GET', path: '/agent/usage', query: params }, options)
  }
}
