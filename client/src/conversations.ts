import type { APIPromise } from './api-promise.ts'
import { ConversationPages } from './lists.ts'
import { requestJson } from './request.ts'
import type { ConversationParams, ConversationRedirect } from './schemas.ts'
import type { RequestOptions, Transport } from './transport.ts'

/** `client.conversations`: what one or several runs said and did. */
export class Conversations {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** The same as `runs.conversation` of any of its runs. One that is not there: `NotFoundError`. */
  retrieve(
    conversation_id: string,
    params: ConversationParams = {},
    options?: RequestOptions,
  ): ConversationPages {
    const path = ['agent', 'conversations', conversation_id]
    return new ConversationPages(this.#transport, { path, query: params }, options)
  }

  /** Where the conversation goes on now: its `session_id`, absent where nothing is at work. Needs no key. */
  checkRedirect(conversation_id: string, options?: RequestOptions): APIPromise<ConversationRedirect> {
    const path = ['agent', 'conversations', conversation_id, 'redirect']
    return requestJson(this.#transport, { method: 'GET', path }, options)
  }
}
