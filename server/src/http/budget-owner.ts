import type { FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'
import type { Actor } from '../contract/actor.ts'

/**
 * Whose budget a request uses: not the key's, which can be rotated, nor the visit's, of which a link begins any number. Visitors
 * of all links of a principal share one, so that they cannot use up the principal's own.
 */
export const ownerOf = ({
  principal_id,
  only_run_id,
}: Pick<Actor, 'principal_id' | 'only_run_id'>): string =>
  only_run_id === undefined ? principal_id : `visitors of ${principal_id}`

/** Some proxies write addresses with the port, which is another one for each connection. */
const WITH_PORT = /^"?(?:\[([^\]]+)\]|([^:]+))(?::\d+)?"?$/

/**
 * The address of who has no key: of IPv6 the /64, since one machine has all addresses of it. All of whom a proxy says no address
 * are one: a word can be renewed.
 */
export function blockOf(address: string): string {
  const [, bracketed, alone] = WITH_PORT.exec(address) ?? []
  const [plain = ''] = (bracketed ?? alone ?? address).split('%')
  if (!ipaddr.isValid(plain)) return 'unknown'
  const read = ipaddr.process(plain)
  if (!(read instanceof ipaddr.IPv6)) return read.toString()
  const [high, low] = embeddedIpv4(read) ?? []
  if (high !== undefined && low !== undefined) return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.')
  // Of a local translator (RFC 8215) the IPv4 address stands wherever its operator put it.
  const groups = read.range() === 'rfc6052' ? 3 : 4
  return `${read.parts
    .slice(0, groups)
    .map((part) => part.toString(16))
    .join(':')}::/${groups * 16}`
}

/** The same of a customer, who has a /48 of IPv6 at most: for what is kept, of which each machine of it could have its share. */
export const siteOf = (address: string): string =>
  blockOf(address).replace(/^((?:[\da-f]+:){3})[\da-f]+::\/64$/, '$1:/48')

/** Who has one IPv4 address has 2^80 of IPv6 by 6to4 (RFC 3056), and others by Teredo (RFC 4380) and translators (RFC 6052, 6145). */
function embeddedIpv4(read: ipaddr.IPv6): number[] | null {
  const { parts } = read
  const last = parts.slice(6)
  const range = read.range()
  if (range === '6to4') return parts.slice(1, 3)
  // Each bit of it is inverted.
  if (range === 'teredo') return last.map((part) => part ^ 0xffff)
  const is_compatible = parts.slice(0, 6).every((part) => part === 0) && range !== 'loopback'
  const is_well_known = range === 'rfc6052' && parts[2] === 0
  return range === 'rfc6145' || is_well_known || is_compatible ? last : null
}

export const ownerOfRequest = ({ actor, ip }: Pick<FastifyRequest, 'actor' | 'ip'>): string =>
  actor ? ownerOf(actor) : blockOf(ip)
