import type { APIPromise } from './api-promise.ts'
import { prepareAttachments, type UploadFile, uploadAttachments } from './attachments.ts'
import { ConversationPages } from './lists.ts'
import { requestFile, requestJson, requestText } from './request.ts'
import type {
  ConversationFollowupResponse,
  ConversationInterruptResponse,
  ConversationParams,
  ConversationRedirect,
  FollowupAttachment,
  PrepareAttachmentsRequest,
  PrepareAttachmentsResponse,
  RunFollowupRequest,
} from './schemas.ts'
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

  /** Sends a message to the conversation's newest run, whatever it is doing. The answer names the run. */
  followup(
    conversation_id: string,
    followup: RunFollowupRequest,
    options?: RequestOptions,
  ): APIPromise<ConversationFollowupResponse> {
    const path = ['agent', 'conversations', conversation_id, 'followups']
    return requestJson(this.#transport, { method: 'POST', path, body: followup }, options)
  }

  /** As `runs.uploadAttachments`, for a follow-up to any run of the conversation. */
  uploadAttachments(
    conversation_id: string,
    { files }: { files: readonly UploadFile[] },
    options?: RequestOptions,
  ): Promise<FollowupAttachment[]> {
    return uploadAttachments(this.#transport, ['agent', 'conversations', conversation_id], files, options)
  }

  /** The first half of `uploadAttachments`: an `upload_url` for each file, which takes it by PUT without a key. */
  prepareAttachments(
    conversation_id: string,
    attachments: PrepareAttachmentsRequest,
    options?: RequestOptions,
  ): APIPromise<PrepareAttachmentsResponse> {
    return prepareAttachments(
      this.#transport,
      ['agent', 'conversations', conversation_id],
      attachments,
      options,
    )
  }

  /** Stops what the agent of its newest run is doing now, and keeps the run and its sandbox. */
  interrupt(conversation_id: string, options?: RequestOptions): APIPromise<ConversationInterruptResponse> {
    const path = ['agent', 'conversations', conversation_id, 'interrupt']
    return requestJson(this.#transport, { method: 'POST', path }, options)
  }

  /** The logs of its runs as JSON Lines, one after the other. */
  transcript(conversation_id: string, options?: RequestOptions): APIPromise<string> {
    const path = ['agent', 'conversations', conversation_id, 'transcript']
    return requestText(this.#transport, path, options)
  }

  /** A screenshot of one of its runs, unread: `await (await screenshot(id, uid)).blob()`. */
  async screenshot(
    conversation_id: string,
    screenshot_uid: string,
    options?: RequestOptions,
  ): Promise<Response> {
    const path = ['agent', 'conversations', conversation_id, 'screenshots', screenshot_uid, 'download']
    return requestFile(this.#transport, { path }, options)
  }

  /** Where the conversation goes on now: its `session_id`, absent where nothing is at work. Needs no key. */
  checkRedirect(conversation_id: string, options?: RequestOptions): APIPromise<ConversationRedirect> {
    const path = ['agent', 'conversations', conversation_id, 'redirect']
    return requestJson(this.#transport, { method: 'GET', path }, options)
  }
}
