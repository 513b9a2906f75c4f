import type { APIPromise } from './api-promise.ts'
import { requestJson } from './request.ts'
import type { SessionRedirect } from './schemas.ts'
import type { RequestOptions, Transport } from './transport.ts'

/** `client.sessions`: a run at work, by the `session_id` of the run. */
export class Sessions {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** What is to be read of a session that is over: its `conversation_id`, absent while it lasts. Needs no key. */
  checkRedirect(session_uuid: string, options?: RequestOptions): APIPromise<SessionRedirect> {
    const path = ['agent', 'sessions', session_uuid, 'redirect']
    return requestJson(this.#transport, { method: 'GET', path }, options)
  }
}
