import assert from 'node:assert/strict'
import type { FastifyInstance, InjectOptions } from 'fastify'

/**
 * `fetch` for addresses of an app in this process, which need not listen. An event stream needs a connection: the app listens
 * from the first one on. Follows no redirect.
 */
export function injectedFetch(app: FastifyInstance, origin: string): typeof fetch {
  let listening: Promise<string> | undefined
  return async (input, init) => {
    const request = new Request(input, init)
    const { origin: asked, pathname, search } = new URL(request.url)
    assert.equal(asked, origin, 'Another service is asked.')
    if (isStream(request, pathname)) {
      listening ??= app.listen({ host: '127.0.0.1', port: 0 })
      return fetch((await listening) + pathname + search, init)
    }
    const answer = await app.inject({
      method: request.method as NonNullable<InjectOptions['method']>,
      url: pathname + search,
      headers: { accept: '*/*', host: new URL(origin).host, ...Object.fromEntries(request.headers) },
      ...(request.body ? { payload: Buffer.from(await request.arrayBuffer()) } : {}),
    })
    const { statusCode: status } = answer
    assert(
      init?.redirect === 'manual' || status < 300 || status === 304 || status >= 400,
      `${request.url} leads elsewhere.`,
    )
    const headers = new Headers()
    for (const [name, values] of Object.entries(answer.headers))
      for (const value of [values ?? []].flat()) headers.append(name, String(value))
    const has_body = status !== 204 && status !== 304
    return new Response(has_body ? answer.rawPayload : null, { status, headers })
  }
}

const isStream = ({ method, headers }: Request, pathname: string): boolean =>
  method === 'GET' &&
  (headers.get('accept')?.includes('text/event-stream') || pathname.endsWith('/events/stream'))
