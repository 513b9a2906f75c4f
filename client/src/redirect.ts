import { RunyardError } from './errors.ts'
import { isBrowser } from './runtime.ts'
import type { FetchInit, Transport } from './transport.ts'

const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308]
const MAX_REDIRECTS = 20

/**
 * Asks for something, wherever it has moved. Not by `fetch` itself: it takes all headers but `authorization` along to any
 * origin, and the caller's own may be credentials too. `bare` are those that may go there. `place` is where it got to.
 */
export async function fetchAndFollow(
  fetch: Transport['fetch'],
  place: { url: string },
  init: FetchInit,
  bare: Readonly<Record<string, string>>,
): Promise<Response> {
  // A page is not shown where a redirect leads.
  if (isBrowser()) return fetch(place.url, { ...init, redirect: 'follow' })
  let { headers = {} } = init
  for (let count = 0; ; count += 1) {
    const response = await fetch(place.url, { ...init, headers, redirect: 'manual' })
    // Neither is a worker of a page.
    if (response.type === 'opaqueredirect') return fetch(place.url, { ...init, headers, redirect: 'follow' })
    const location = REDIRECTS.includes(response.status) ? response.headers.get('location') : null
    if (location === null) return response
    await response.text()
    const next = URL.canParse(location, place.url) ? new URL(location, place.url) : undefined
    if (count === MAX_REDIRECTS || !next || !/^https?:$/.test(next.protocol)) {
      throw new RunyardError('The service redirects to nowhere or in circles. Is baseURL right?')
    }
    if (next.origin !== new URL(place.url).origin) headers = bare
    place.url = next.href
  }
}
