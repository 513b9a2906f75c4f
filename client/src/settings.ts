import type { APIPromise } from './api-promise.ts'
import { requestJson } from './request.ts'
import type { ListSettingsResponse } from './schemas.ts'
import type { RequestOptions, Transport } from './transport.ts'

/** `client.settings` */
export class Settings {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** The settings of the service that answers, without the values of secrets; for admins. */
  list(options?: RequestOptions): APIPromise<ListSettingsResponse> {
    return requestJson(this.#transport, { method: 'GET', path: '/agent/settings' }, options)
  }
}
