import type { APIPromise } from './api-promise.ts'
import { EnvironmentList } from './lists.ts'
import { requestJson } from './request.ts'
import type { Environment, EnvironmentRequest, ListEnvironmentsParams } from './schemas.ts'
import type { RequestOptions, Transport } from './transport.ts'

const PATH = '/agent/environments'
const pathOf = (environment_id: string): string[] => ['agent', 'environments', environment_id]

/** `client.environments` */
export class Environments {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Keeps a configuration under a name, for runs to name in `config.environment_id`. */
  create(environment: EnvironmentRequest, options?: RequestOptions): APIPromise<Environment> {
    return requestJson(this.#transport, { method: 'POST', path: PATH, body: environment }, options)
  }

  /** One environment, by id or name. One that is not there: `NotFoundError`. */
  retrieve(environment_id: string, options?: RequestOptions): APIPromise<Environment> {
    return requestJson(this.#transport, { method: 'GET', path: pathOf(environment_id) }, options)
  }

  /**
   * Replaces the configuration of an environment, by id or name, with this one: what it leaves out is gone, but variables
   * whose value is `***` keep the one they have. So `config` of an environment can be read, changed and written.
   */
  update(
    environment_id: string,
    environment: EnvironmentRequest,
    options?: RequestOptions,
  ): APIPromise<Environment> {
    const path = pathOf(environment_id)
    return requestJson(this.#transport, { method: 'PUT', path, body: environment }, options)
  }

  /**
   * Deletes an environment, by id or name, and returns it as it was. Repeated after its answer was lost, it finds nothing
   * any more: `NotFoundError`.
   */
  delete(environment_id: string, options?: RequestOptions): APIPromise<Environment> {
    return requestJson(this.#transport, { method: 'DELETE', path: pathOf(environment_id) }, options)
  }

  /**
   * `for await (const environment of environments.list())` goes through all pages, in the order asked for;
   * `await environments.list()` is the first one, of up to 500.
   */
  list(params: ListEnvironmentsParams = {}, options?: RequestOptions): EnvironmentList {
    return new EnvironmentList(this.#transport, { path: PATH, query: params }, options)
  }
}
