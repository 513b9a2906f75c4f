import assert from 'node:assert/strict'
import type { FastifyInstance, InjectOptions } from 'fastify'

/**
 * `fetch` for addresses of an app in this process, which need not listen. An event stream needs a connection: for that `listen`
 * is called. Follows no redirect, and sends text alone.
 */
export function injectedFetch(
  app: FastifyInstance,
  origin: string,
  listen: () => Promise<string>,
): typeof fetch {
  return async (input, init = {}) => {
    assert(!(input instanceof Request))
    const { origin: asked, host, pathname, search } = new URL(input)
    assert.equal(asked, origin, 'Another service is asked.')
    const { method = 'GET', body, redirect } = init
    const headers = Object.fromEntries(new Headers(init.headers))
    if (method === 'GET' && (headers.accept === 'text/event-stream' || pathname.endsWith('/events/stream'))) {
      return fetch((await listen()) + pathname + search, init)
    }
    assert(body === undefined || typeof body === 'string')
    const type = body === undefined ? {} : { 'content-type': 'text/plain;charset=UTF-8' }
    const answer = await app.inject({
      method: method as NonNullable<InjectOptions['method']>,
      url: pathname + search,
      headers: { accept: '*/*', host, ...type, ...headers },
      ...(body === undefined ? {} : { payload: body }),
    })
    const { statusCode: status, rawPayload } = answer
    assert(redirect === 'manual' || !answer.headers.location, `${input} leads elsewhere.`)
    const answered = new Headers()
    for (const [name, values] of Object.entries(answer.headers))
      for (const value of [values ?? []].flat()) answered.append(name, String(value))
    return new Response(NO_BODY.has(status) ? null : rawPayload, { status, headers: answered })
  }
}

/** A `Response` takes none for these. */
const NO_BODY: ReadonlySet<number> = new Set([204, 304])
