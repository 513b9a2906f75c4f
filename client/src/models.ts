import type { APIPromise } from './api-promise.ts'
import { requestJson } from './request.ts'
import type { ListModelsResponse } from './schemas.ts'
import type { RequestOptions, Transport } from './transport.ts'

/** `client.models` */
export class Models {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** The models that the live workers can use now. */
  list(options?: RequestOptions): APIPromise<ListModelsResponse> {
    return requestJson(this.#transport, { method: 'GET', path: '/agent/models' }, options)
  }
}
