import { decodePercent } from '../../contract/percent.ts'
import type { MaskText } from '../cut-text.ts'

const MAX_ADDRESS = 2_000

/** An address of the web that a model gave, or why it is none that can be used. */
export function readWebAddress(given: string): URL | { refusal: string } {
  const text = given.trim()
  // The parser takes tabs and line ends out without a word, and shows others as something else.
  if (/[\p{Cc}\s]/u.test(text)) return { refusal: 'The address holds spaces or control characters.' }
  const url = URL.parse(text)
  if (!url) return { refusal: 'This is no address; it begins with https:// or http://.' }
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    return { refusal: `Only https and http addresses can be used, not ${url.protocol.slice(0, 40)}` }
  if (url.username || url.password)
    return { refusal: 'The address holds a user name or password: leave them out.' }
  if (url.href.length > MAX_ADDRESS)
    return { refusal: `The address is longer than ${MAX_ADDRESS} characters.` }
  return url
}

/** An address without the values of secrets, which addresses spell their own way. */
export function tellAddress(url: string, mask: MaskText): string {
  const spelled_out = url.replace(/(?:%[0-9a-f]{2})+/gi, decodePercent)
  const masked = mask(spelled_out)
  return masked === spelled_out ? url : masked
}
