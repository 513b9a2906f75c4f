import { type RequestOptions, requestJson, type Transport } from './request.ts'
import type { ListRunsParams, ListRunsResponse, RunItem } from './schemas.ts'

/**
 * A list of runs that has not been asked for yet. Awaited, it is the first page; iterated, every run of every page, each
 * page fetched when it is needed; `pages()` gives them page by page.
 */
export class RunList implements PromiseLike<ListRunsResponse>, AsyncIterable<RunItem> {
  readonly #transport: Transport
  readonly #params: ListRunsParams
  readonly #options: RequestOptions | undefined

  constructor(transport: Transport, params: ListRunsParams, options: RequestOptions | undefined) {
    this.#transport = transport
    this.#params = params
    this.#options = options
  }

  // biome-ignore lint/suspicious/noThenProperty: a list is meant to be awaited.
  then<A = ListRunsResponse, B = never>(
    resolved?: ((page: ListRunsResponse) => A | PromiseLike<A>) | null,
    rejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.#fetch(this.#params.cursor).then(resolved, rejected)
  }

  async *pages(): AsyncGenerator<ListRunsResponse, void, undefined> {
    let cursor = this.#params.cursor
    do {
      const page = await this.#fetch(cursor)
      yield page
      cursor = page.page_info.has_next_page ? page.page_info.next_cursor : undefined
    } while (cursor !== undefined)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<RunItem, void, undefined> {
    for await (const page of this.pages()) yield* page.runs
  }

  #fetch(cursor: string | undefined): Promise<ListRunsResponse> {
    const query = { ...this.#params, cursor }
    return requestJson(this.#transport, { method: 'GET', path: '/agent/runs', query }, this.#options)
  }
}
