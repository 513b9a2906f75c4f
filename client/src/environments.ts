import type { APIPromise } from './api-promise.ts'
import { EnvironmentList } from './lists.ts'
import { requestJson } from './request.ts'
import type { Environment, EnvironmentConfig, ListEnvironmentsParams } from './schemas.ts'
import type { RequestOptions, Transport } from './transport.ts'

const PATH = '/agent/environments'

/** `client.environments` */
export class Environments {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Keeps a configuration under a name, for runs to name in `config.environment_id`. */
  create(environment: EnvironmentConfig, options?: RequestOptions): APIPromise<Environment> {
    return requestJson(this.#transport, { method: 'POST', path: PATH, body: environment }, options)
  }

  /** One environment. An id that nobody has: `NotFoundError`. */
  retrieve(environment_id: string, options?: RequestOptions): APIPromise<Environment> {
    const path = ['agent', 'environments', environment_id]
    return requestJson(this.#transport, { method: 'GET', path }, options)
  }

  /**
   * `for await (const environment of environments.list())` goes through all pages, in the order asked for;
   * `await environments.list()` is the first one, of up to 1,000.
   */
  list(params: ListEnvironmentsParams = {}, options?: RequestOptions): EnvironmentList {
    return new EnvironmentList(this.#transport, { path: PATH, query: params }, options)
  }
}
