import ipaddr from 'ipaddr.js'
import { z } from 'zod'
import { BROKEN_USER, hasBrokenUser } from './contract/percent.ts'

/** Kinds of settings, as texts of environment variables. */
export const flag = z
  .enum(['1', 'true', '0', 'false'])
  .transform((value) => value === '1' || value === 'true')
export const whole = (min: number, max: number) =>
  ranged(/^\d+$/, `must be a whole number from ${min} to ${max}`, min, max)
export const number = (min: number, max: number) =>
  ranged(/^\d+(\.\d+)?$/, `must be a number from ${min} to ${max}`, min, max)
const ranged = (pattern: RegExp, message: string, min: number, max: number) =>
  z.string().regex(pattern, message).transform(Number).pipe(z.number().min(min, message).max(max, message))
export const key = z.string().min(1).optional()
export const address = z
  .url({ protocol: /^https?$/, error: 'must be an http or https address' })
  .refine((text) => !hasBrokenUser(text), BROKEN_USER)

/** Of a text with commas. */
export const splitList = (text: string): string[] =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean)

/** Of networks with commas between them: each once, by its first address. */
export const networks = z
  .string()
  .transform(splitList)
  .refine(
    (items) => items.every(isNetwork),
    'must be networks with commas between them, such as 203.0.113.0/28,2001:db8::/48',
  )
  .transform((items) => [...new Set(items.map(nameNetwork))])

/** Other readers take `10.1/16` and `010.0.0.0/8` for other networks than ipaddr.js does. */
const isNetwork = (text: string): boolean =>
  text.includes(':') ? ipaddr.IPv6.isValidCIDR(text) : ipaddr.IPv4.isValidCIDRFourPartDecimal(text)

function nameNetwork(text: string): string {
  const [, bits] = ipaddr.parseCIDR(text)
  const family = text.includes(':') ? ipaddr.IPv6 : ipaddr.IPv4
  return `${family.networkAddressFromCIDR(text)}/${bits}`
}
