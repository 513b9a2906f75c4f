import { APIPromise } from './api-promise.ts'
import {
  type ApiRequest,
  type RequestOptions,
  readJson,
  request,
  requestJson,
  type Transport,
} from './request.ts'
import type { ListRunsParams, ListRunsResponse, RunItem } from './schemas.ts'

/** Awaited, it is the first page; iterated, every run of every page, each page fetched when it is needed. */
export class RunList extends APIPromise<ListRunsResponse> implements AsyncIterable<RunItem> {
  readonly #fetchPage: (cursor: string) => Promise<ListRunsResponse>

  constructor(transport: Transport, params: ListRunsParams, options: RequestOptions | undefined) {
    const callOf = (query: ListRunsParams): ApiRequest => ({ method: 'GET', path: '/agent/runs', query })
    super((read) => request(transport, callOf(params), options, read), readJson<ListRunsResponse>)
    this.#fetchPage = (cursor) => requestJson(transport, callOf({ ...params, cursor }), options)
  }

  /** `for await (const page of client.runs.list().pages())` */
  async *pages(): AsyncGenerator<ListRunsResponse, void, undefined> {
    let page: ListRunsResponse = await this
    yield page
    while (page.page_info.has_next_page && page.page_info.next_cursor !== undefined) {
      page = await this.#fetchPage(page.page_info.next_cursor)
      yield page
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<RunItem, void, undefined> {
    for await (const page of this.pages()) yield* page.runs
  }
}
