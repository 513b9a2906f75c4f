import type { APIPromise } from './api-promise.ts'
import { requestJson } from './request.ts'
import type { ListSkillsParams, ListSkillsResponse } from './schemas.ts'
import type { RequestOptions, Transport } from './transport.ts'

/** `client.skills` */
export class Skills {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Skills of the environments' repositories, as the last run of each environment found them. */
  list(params: ListSkillsParams = {}, options?: RequestOptions): APIPromise<ListSkillsResponse> {
    return requestJson(this.#transport, { method: 'GET', path: '/agent', query: params }, options)
  }
}
