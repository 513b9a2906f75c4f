import { Runyard } from '@runyard/client'
import { createContext, useContext } from 'react'
import { watchedFetch } from './shell/connection.ts'

/** Path that the service is served below: `/`, or that of a proxy in front. Ends with a slash. */
export const BASE_PATH = new URL(document.baseURI).pathname
export const BASE_URL = new URL(BASE_PATH, location.origin)

/** Says whose cookie counts: that of who has signed in, or that of a visitor of one run. */
export const PAGE_HEADER = 'x-runyard-page'

/** A library whose requests carry the page's cookie instead of a key. */
export const createClient = (visited_run_id?: string): Runyard =>
  new Runyard({
    apiKey: null,
    baseURL: BASE_URL.href,
    defaultHeaders: {
      [PAGE_HEADER]: visited_run_id ? `visit ${visited_run_id}` : '1',
      'x-runyard-source': 'WEB_APP',
    },
    logLevel: 'off',
    fetch: watchedFetch,
  })

/** What a page reads and writes with. */
export interface Access {
  client: Runyard
  /** Whether this person may send messages, cancel and create. */
  may_write: boolean
  may_administer: boolean
  /** Opened by a link, without a key: only this run is to be seen. */
  is_visitor: boolean
}

export const AccessContext = createContext<Access | null>(null)

export function useAccess(): Access {
  const access = useContext(AccessContext)
  if (!access) throw new Error('The page is shown before anybody has signed in.')
  return access
}
