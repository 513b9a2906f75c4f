import type { APIPromise } from './api-promise.ts'
import { ApiKeyList } from './lists.ts'
import { requestJson } from './request.ts'
import type {
  ApiKey,
  CreateApiKeyRequest,
  ListApiKeysParams,
  NewApiKey,
  RotateApiKeyRequest,
} from './schemas.ts'
import type { RequestOptions, Transport } from './transport.ts'

const PATH = '/api-keys'

/** `client.apiKeys`: keys of users and identities. Only what makes one gives its text, once. */
export class ApiKeys {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Makes a key, for admins: one more of the caller's, of somebody else, of an identity, or the first of a new user. */
  create(key: CreateApiKeyRequest, options?: RequestOptions): APIPromise<NewApiKey> {
    return requestJson(this.#transport, { method: 'POST', path: PATH, body: key }, options)
  }

  /**
   * `for await (const key of apiKeys.list())` goes through all pages, newest first; `await apiKeys.list()` is the first one.
   * Admins see all, others those of their own principal.
   */
  list(params: ListApiKeysParams = {}, options?: RequestOptions): ApiKeyList {
    return new ApiKeyList(this.#transport, { path: PATH, query: params }, options)
  }

  /** Makes a key in place of another, which still works for `grace_minutes`, by default five. */
  rotate(key_id: string, params: RotateApiKeyRequest = {}, options?: RequestOptions): APIPromise<NewApiKey> {
    const path = ['api-keys', key_id, 'rotate']
    return requestJson(this.#transport, { method: 'POST', path, body: params }, options)
  }

  /** Revokes a key at once, and returns it as it is then. The last admin key that works: `ConflictError`. */
  revoke(key_id: string, options?: RequestOptions): APIPromise<ApiKey> {
    return requestJson(this.#transport, { method: 'DELETE', path: ['api-keys', key_id] }, options)
  }
}
