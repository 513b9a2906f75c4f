import type { APIPromise } from './api-promise.ts'
import { SecretList } from './lists.ts'
import { requestJson } from './request.ts'
import type { ListSecretsParams, PutSecretParams, Secret, SecretParams } from './schemas.ts'
import type { RequestOptions, Transport } from './transport.ts'

const PATH = '/agent/secrets'
const pathOf = (name: string): string[] => ['agent', 'secrets', name]

/** `client.secrets`: values for commands and tokens of git. No method ever gives a value back. */
export class Secrets {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * Keeps a value under a name, encrypted; one that is there is replaced. With `git` it is a token that never enters a sandbox.
   * To make another kind of a secret that is there: `ConflictError`; delete it first.
   */
  put(name: string, { scope, ...secret }: PutSecretParams, options?: RequestOptions): APIPromise<Secret> {
    const call = { method: 'PUT', path: pathOf(name), query: { scope }, body: secret } as const
    return requestJson(this.#transport, call, options)
  }

  /** What is known of a secret besides its value. A name that nobody has: `NotFoundError`. */
  get(name: string, params: SecretParams = {}, options?: RequestOptions): APIPromise<Secret> {
    const call = { method: 'GET', path: pathOf(name), query: params } as const
    return requestJson(this.#transport, call, options)
  }

  /**
   * `for await (const secret of secrets.list())` goes through all pages, by name;
   * `await secrets.list()` is the first one, of up to 500.
   */
  list(params: ListSecretsParams = {}, options?: RequestOptions): SecretList {
    return new SecretList(this.#transport, { path: PATH, query: params }, options)
  }

  /** Deletes a secret, and returns it as it was. */
  delete(name: string, params: SecretParams = {}, options?: RequestOptions): APIPromise<Secret> {
    const call = { method: 'DELETE', path: pathOf(name), query: params } as const
    return requestJson(this.#transport, call, options)
  }
}
