import type { APIPromise } from './api-promise.ts'
import { PrincipalList } from './lists.ts'
import { requestJson } from './request.ts'
import type { ListPrincipalsParams, Principal } from './schemas.ts'
import type { RequestOptions, Transport } from './transport.ts'

const PATH = '/principals'

/** `client.principals`: people. For admins. */
export class Principals {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * `for await (const person of principals.list())` goes through all pages, newest first; `await principals.list()` is the
   * first one.
   */
  list(params: ListPrincipalsParams = {}, options?: RequestOptions): PrincipalList {
    return new PrincipalList(this.#transport, { path: PATH, query: params }, options)
  }

  /** Stops everything that is done as this person. The one with the last admin key that works: `ConflictError`. */
  disable(uid: string, options?: RequestOptions): APIPromise<Principal> {
    return requestJson(this.#transport, { method: 'POST', path: ['principals', uid, 'disable'] }, options)
  }

  /** Lets a person go on: keys that were not revoked meanwhile work again. */
  enable(uid: string, options?: RequestOptions): APIPromise<Principal> {
    return requestJson(this.#transport, { method: 'POST', path: ['principals', uid, 'enable'] }, options)
  }
}
