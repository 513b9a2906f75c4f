import type { APIPromise } from './api-promise.ts'
import { IdentityList } from './lists.ts'
import { requestJson } from './request.ts'
import type {
  AgentIdentity,
  CreateAgentIdentityRequest,
  ListIdentitiesParams,
  UpdateAgentIdentityRequest,
} from './schemas.ts'
import type { RequestOptions, Transport } from './transport.ts'

const PATH = '/agent/identities'
const pathOf = (uid: string): string[] => ['agent', 'identities', uid]

/** `client.identities`: service accounts that execute runs, which name one in `agent_identity_uid`. */
export class Identities {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Makes an identity. What of it this service does not offer: `PermissionDeniedError`. */
  create(identity: CreateAgentIdentityRequest, options?: RequestOptions): APIPromise<AgentIdentity> {
    return requestJson(this.#transport, { method: 'POST', path: PATH, body: identity }, options)
  }

  /**
   * `for await (const identity of identities.list())` goes through all pages, by name; `await identities.list()` is the first one,
   * of up to 500: all that there may be.
   */
  list(params: ListIdentitiesParams = {}, options?: RequestOptions): IdentityList {
    return new IdentityList(this.#transport, { path: PATH, query: params }, options)
  }

  /** One identity. One that is not there: `NotFoundError`. */
  retrieve(uid: string, options?: RequestOptions): APIPromise<AgentIdentity> {
    return requestJson(this.#transport, { method: 'GET', path: pathOf(uid) }, options)
  }

  /** Changes what is named; what is left out or null stays, an empty text or list is none. */
  update(
    uid: string,
    changes: UpdateAgentIdentityRequest,
    options?: RequestOptions,
  ): APIPromise<AgentIdentity> {
    return requestJson(this.#transport, { method: 'PUT', path: pathOf(uid), body: changes }, options)
  }

  /** Deletes an identity, and returns it as it was: its keys are revoked, its runs stay. */
  delete(uid: string, options?: RequestOptions): APIPromise<AgentIdentity> {
    return requestJson(this.#transport, { method: 'DELETE', path: pathOf(uid) }, options)
  }
}
