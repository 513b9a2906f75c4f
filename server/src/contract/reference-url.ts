import { addressOf } from './address.ts'

/**
 * What an address of the web is compared by: its host in lower case, no default port, no fragment, no slash at the end of its
 * path. `null`: it is no such address.
 */
export function comparableUrl(text: string): string | null {
  const url = URL.parse(text)
  if (url === null || !['http:', 'https:'].includes(url.protocol)) return null
  return url.origin + url.pathname.replace(/\/+$/, '') + url.search
}

const holdsUser = (text: string): boolean => {
  const url = URL.parse(text)
  return url !== null && url.username + url.password !== ''
}

/** An address that runs are found by, in the form that it is compared by. */
export const ReferenceUrl = addressOf({
  schemes: ['http:', 'https:'],
  error: 'must be an http or https address',
  open: false,
})
  .refine((text) => !holdsUser(text), 'must hold no credentials')
  .overwrite((text) => comparableUrl(text) ?? text)
