import { readJson } from './answer.ts'
import { APIPromise } from './api-promise.ts'
import { RunyardError } from './errors.ts'
import type { ApiRequest } from './prepare.ts'
import type { QueryParams } from './query.ts'
import { request, requestJson } from './request.ts'
import type { PageInfo } from './schemas.ts'
import type { RequestOptions, Transport } from './transport.ts'

/** An older service may leave out what the contract asks for. */
interface Page {
  page_info?: PageInfo
}

/** What is asked for: the same for each page but for its cursor. */
export interface PageQuery {
  path: NonNullable<ApiRequest['path']>
  query: QueryParams & { cursor?: string | undefined }
}

/**
 * Awaited, it is the first page; iterated, everything of every page. Each page is fetched when it is needed, the first one
 * too.
 */
export abstract class PageList<P extends Page, Item> extends APIPromise<P> implements AsyncIterable<Item> {
  readonly #fetchPage: (cursor: string) => Promise<P>
  readonly #cursor: string | undefined

  constructor(transport: Transport, { path, query }: PageQuery, options: RequestOptions | undefined) {
    // A copy: the caller may go on to change the object.
    const filters = { ...query }
    const callOf = (fields: PageQuery['query']): ApiRequest => ({ method: 'GET', path, query: fields })
    super((read) => request(transport, callOf(filters), options, read), readJson<P>, true)
    this.#fetchPage = (cursor) => requestJson(transport, callOf({ ...filters, cursor }), options)
    this.#cursor = query.cursor
  }

  /** `for await (const page of client.runs.list().pages())` */
  async *pages(): AsyncGenerator<P, void, undefined> {
    let page: P = await this
    yield page
    for (let cursor = this.#cursor; page.page_info?.has_next_page && page.page_info.next_cursor; ) {
      if (page.page_info.next_cursor === cursor)
        throw new RunyardError('The service gave the same page again.')
      cursor = page.page_info.next_cursor
      page = await this.#fetchPage(cursor)
      yield page
    }
  }

  abstract [Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined>
}
