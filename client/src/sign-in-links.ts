import type { APIPromise } from './api-promise.ts'
import { requestJson } from './request.ts'
import type { CreateSignInLinkRequest, SignInLink } from './schemas.ts'
import type { RequestOptions, Transport } from './transport.ts'

/** `client.signInLinks`: links that open the page in a browser, signed in. */
export class SignInLinks {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * A link that signs a browser in with the client's key, once and within 60 seconds; with `path`, to what the page then shows; an admin's
   * with `principal_id` signs in as that person, within 24 hours.
   */
  create(params: CreateSignInLinkRequest = {}, options?: RequestOptions): APIPromise<SignInLink> {
    const path = '/agent/sign-in-links'
    return requestJson(this.#transport, { method: 'POST', path, body: params }, options)
  }
}
