import { z } from 'zod'
import { BROKEN_USER, hasBrokenUser } from './percent.ts'

/** What parsers leave out or turn around, each in its own way. */
const ODD = /[\s\\\p{C}]/u
const USER = /^[a-z]+:\/\/[^/?#]*@/i

/**
 * An absolute address, kept as `URL` writes it, so that what is checked, stored, shown and dialled is the same text. With
 * `open` everybody may read it, so it holds no name, password, query or fragment.
 */
export function addressOf(options: {
  schemes: readonly string[]
  error: string
  open: boolean
  /** What other ways to write an address mean. */
  rewrite?: (text: string) => string
}) {
  const { schemes, error, open, rewrite = (text: string) => text } = options
  const address = z
    .string()
    .max(2048)
    .refine((value) => !ODD.test(value), 'must hold no spaces, control characters or backslashes')
    .overwrite((value) => (ODD.test(value) ? value : rewrite(value)))
    .refine((value) => isAbsolute(value, schemes), error)
    .refine((value) => !open || !USER.test(value), { error: 'must hold no credentials', abort: true })
    .refine((value) => !hasBrokenUser(value), BROKEN_USER)
    .overwrite((value) => URL.parse(value)?.href ?? value)
    .refine((value) => !open || !holdsMore(value), 'must hold no credentials, query or fragment')
  // What may be written in other ways is no URI yet.
  return options.rewrite ? address : address.meta({ format: 'uri' })
}

/** `https:host` and `https:///host` are the same to `URL` and to nobody else. */
const isAbsolute = (value: string, schemes: readonly string[]): boolean =>
  /^[a-z]+:\/\/[^/]/i.test(value) && schemes.includes(URL.parse(value)?.protocol ?? '')

function holdsMore(value: string): boolean {
  const url = URL.parse(value)
  return url !== null && [url.username, url.password, url.search, url.hash].some((part) => part !== '')
}
