import type { APIPromise } from './api-promise.ts'
import { requestJson } from './request.ts'
import type {
  AgentIdentity,
  CreateAgentIdentityRequest,
  ListAgentIdentitiesResponse,
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

  /** All of them, by name, in `agents`. */
  list(options?: RequestOptions): APIPromise<ListAgentIdentitiesResponse> {
    return requestJson(this.#transport, { method: 'GET', path: PATH }, options)
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
