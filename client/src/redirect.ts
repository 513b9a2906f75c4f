import { RunyardError } from './errors.ts'
import { isBrowser } from './runtime.ts'
import type { FetchInit, Transport } from './transport.ts'

const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308]
const MAX_REDIRECTS = 20

/**
 * Asks for something, wherever it has moved. Not by `fetch` itself: it takes all headers but `authorization` along to any
 * origin, and the caller's own may be credentials too. `bare` are those that may go there.
 */
export async function fetchAndFollow(
  fetch: Transport['fetch'],
  url: string,
  init: FetchInit,
  bare: Readonly<Record<string, string>>,
): Promise<Response> {
  // A page is not shown where a redirect leads.
  if (isBrowser()) return fetch(url, { ...init, redirect: 'follow' })
  let at = url
  let { headers = {} } = init
  for (let count = 0; ; count += 1) {
    const response = await fetch(at, { ...init, headers, redirect: 'manual' })
    // Neither is a worker of a page.
    if (response.type === 'opaqueredirect') return fetch(at, { ...init, headers, redirect: 'follow' })
    const location = REDIRECTS.includes(response.status) ? response.headers.get('location') : null
    if (location === null) return response
    await response.text()
    const next = URL.canParse(location, at) ? new URL(location, at) : undefined
    if (count === MAX_REDIRECTS || !next || !/^https?:$/.test(next.protocol)) {
      throw new RunyardError('The service redirects to nowhere or in circles. Is baseURL right?')
    }
    if (next.origin !== new URL(at).origin) headers = bare
    at = next.href
  }
}
