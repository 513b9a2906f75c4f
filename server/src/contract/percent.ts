/** What `%XX` stands for; a text that is not encoded rightly stays as it is. */
export const decodePercent = (text: string): string => decode(text) ?? text

/** Said where an address is given: later nobody could log in with it, and Node throws. */
export const BROKEN_USER =
  'has a "%" in its user name or password that encodes nothing: write "%" itself as %25'

/** Whether the user name or password of an address cannot be decoded. */
export function hasBrokenUser(address: string): boolean {
  const { username = '', password = '' } = URL.parse(address) ?? {}
  return [username, password].some((part) => decode(part) === null)
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}
