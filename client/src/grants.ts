import type { APIPromise } from './api-promise.ts'
import { requestJson } from './request.ts'
import type { GrantsParams, PutGrantsRequest, ResourceGrants } from './schemas.ts'
import type { RequestOptions, Transport } from './transport.ts'

const PATH = '/agent/grants'

/** `client.grants`: who may use a pool, an environment, an identity or a secret. */
export class Grants {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Those of one pool, environment, identity or secret. */
  get(params: GrantsParams, options?: RequestOptions): APIPromise<ResourceGrants> {
    return requestJson(this.#transport, { method: 'GET', path: PATH, query: params }, options)
  }

  /**
   * Replaces those of one pool, environment, identity or secret. With nobody in `principal_ids` it is as it was without grants.
   */
  put(grants: PutGrantsRequest, options?: RequestOptions): APIPromise<ResourceGrants> {
    return requestJson(this.#transport, { method: 'PUT', path: PATH, body: grants }, options)
  }
}
