import type { APIPromise } from './api-promise.ts'
import { requestJson } from './request.ts'
import type { EgressRanges } from './schemas.ts'
import type { RequestOptions, Transport } from './transport.ts'

/** `client.networking` */
export class Networking {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** The networks that requests of agents come from, for allowlists of other services. Empty: the operator names none. */
  egressRanges(options?: RequestOptions): APIPromise<EgressRanges> {
    return requestJson(this.#transport, { method: 'GET', path: '/networking/egress-ranges' }, options)
  }
}
