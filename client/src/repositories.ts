import type { APIPromise } from './api-promise.ts'
import { requestJson } from './request.ts'
import type {
  ListBranchesParams,
  ListBranchesResponse,
  ListRepositoriesParams,
  ListRepositoriesResponse,
} from './schemas.ts'
import type { RequestOptions, Transport } from './transport.ts'

/** `client.repositories`: what your git secrets reach at GitHub and GitLab. */
export class Repositories {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Repositories, last used first. A host that fails is one of `notes`. */
  list(params: ListRepositoriesParams = {}, options?: RequestOptions): APIPromise<ListRepositoriesResponse> {
    return requestJson(
      this.#transport,
      { method: 'GET', path: '/agent/repositories', query: params },
      options,
    )
  }

  /** Branches of one. What fails is one of `notes`. */
  branches(params: ListBranchesParams, options?: RequestOptions): APIPromise<ListBranchesResponse> {
    return requestJson(
      this.#transport,
      { method: 'GET', path: '/agent/repositories/branches', query: params },
      options,
    )
  }
}
