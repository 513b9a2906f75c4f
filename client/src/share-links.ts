import type { APIPromise } from './api-promise.ts'
import { ShareLinkList } from './lists.ts'
import { requestJson } from './request.ts'
import type { CreateShareLinkRequest, ListShareLinksParams, NewShareLink, ShareLink } from './schemas.ts'
import type { RequestOptions, Transport } from './transport.ts'

/** `client.shareLinks`: links that open one run for people without a key. Only what makes one gives its address, once. */
export class ShareLinks {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Makes a link to a run, which works until it is revoked or `expires_at`. For who created the run, and admins. */
  create(
    run_id: string,
    params: CreateShareLinkRequest = {},
    options?: RequestOptions,
  ): APIPromise<NewShareLink> {
    return requestJson(this.#transport, { method: 'POST', path: pathOf(run_id), body: params }, options)
  }

  /** The links of a run, oldest first, without their addresses. */
  list(run_id: string, params: ListShareLinksParams = {}, options?: RequestOptions): ShareLinkList {
    return new ShareLinkList(this.#transport, { path: pathOf(run_id), query: params }, options)
  }

  /** Ends a link, and what was opened with it; returns it as it was. */
  revoke(run_id: string, share_link_id: string, options?: RequestOptions): APIPromise<ShareLink> {
    const path = [...pathOf(run_id), share_link_id]
    return requestJson(this.#transport, { method: 'DELETE', path }, options)
  }
}

const pathOf = (run_id: string): string[] => ['agent', 'runs', run_id, 'share-links']
