// @ts-check
import { byId } from './dom.js'

const LINK_REFUSED =
  'This link no longer opens the page: links are good for 15 minutes. Ask for the run again, or enter an API key.'

/**
 * Trades the token of the link, when there is one, for the cookie of this session. The token leaves the address at once,
 * so that it is neither bookmarked nor shown to whoever looks on.
 * @param {string} base
 * @returns {Promise<string | undefined>} Why the link did not help.
 */
export async function useLink(base) {
  const token = new URLSearchParams(location.hash.slice(1)).get('access')
  if (token === null) return undefined
  history.replaceState(null, '', location.pathname)
  const answer = await requestAccess(base, { token })
  return answer.ok ? undefined : LINK_REFUSED
}

/**
 * Shows the sign-in form; resolves when a key was accepted.
 * @param {string} base
 * @param {string} reason Empty for none.
 * @returns {Promise<void>}
 */
export function signIn(base, reason) {
  const place = byId('sign-in')
  const form = place.querySelector('form')
  const key = byId('key')
  if (!form || !(key instanceof HTMLInputElement)) throw new Error('The page has no sign-in form.')
  say(reason)
  place.hidden = false
  key.focus()
  return new Promise((resolve) => {
    form.onsubmit = async (event) => {
      event.preventDefault()
      const answer = await requestAccess(base, {}, key.value.trim()).catch(() => null)
      if (answer?.ok) {
        key.value = ''
        place.hidden = true
        resolve()
        return
      }
      say(await whyRefused(answer))
      key.select()
    }
  })
}

/** @param {string} reason */
function say(reason) {
  byId('reason').textContent = reason
  byId('reason').hidden = reason === ''
}

/** @param {Response | null} answer */
async function whyRefused(answer) {
  if (!answer) return 'The service cannot be reached. Try again.'
  if (answer.status === 404) return 'There is no such run, or this key may not see it.'
  const problem = await answer.json().catch(() => null)
  return problem?.detail ?? 'The key was refused.'
}

/**
 * @param {string} base
 * @param {{ token?: string }} body
 * @param {string} [api_key]
 */
const requestAccess = (base, body, api_key) =>
  fetch(`${base}/access`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(api_key === undefined ? {} : { authorization: `Bearer ${api_key}` }),
    },
    body: JSON.stringify(body),
  })
