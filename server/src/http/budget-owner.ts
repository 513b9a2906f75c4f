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
  return `${read.parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`
}

export const ownerOfRequest = ({ actor, ip }: Pick<FastifyRequest, 'actor' | 'ip'>): string =>
  actor ? ownerOf(actor) : blockOf(ip)
