import { readJson } from './answer.ts'
import { APIPromise } from './api-promise.ts'
import { RunyardError } from './errors.ts'
import type { ApiRequest } from './prepare.ts'
import { request, requestJson } from './request.ts'
import type { ListRunsParams, ListRunsResponse, RunItem } from './schemas.ts'
import type { RequestOptions, Transport } from './transport.ts'

/**
 * Awaited, it is the first page; iterated, every run of every page. Each page is fetched when it is needed, the first one
 * too.
 */
export class RunList extends APIPromise<ListRunsResponse> implements AsyncIterable<RunItem> {
  readonly #fetchPage: (cursor: string) => Promise<ListRunsResponse>
  readonly #cursor: string | undefined

  constructor(transport: Transport, params: ListRunsParams, options: RequestOptions | undefined) {
    // A copy: the caller may go on to change the object.
    const filters = { ...params }
    const callOf = (query: ListRunsParams): ApiRequest => ({ method: 'GET', path: '/agent/runs', query })
    super((read) => request(transport, callOf(filters), options, read), readJson<ListRunsResponse>, true)
    this.#fetchPage = (cursor) => requestJson(transport, callOf({ ...filters, cursor }), options)
    this.#cursor = params.cursor
  }

  /** `for await (const page of client.runs.list().pages())` */
  async *pages(): AsyncGenerator<ListRunsResponse, void, undefined> {
    let page: ListRunsResponse = await this
    yield page
    for (let cursor = this.#cursor; page.page_info.has_next_page && page.page_info.next_cursor; ) {
      if (page.page_info.next_cursor === cursor)
        throw new RunyardError('The service gave the same page again.')
      cursor = page.page_info.next_cursor
      page = await this.#fetchPage(cursor)
      yield page
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<RunItem, void, undefined> {
    for await (const page of this.pages()) yield* page.runs
  }
}
