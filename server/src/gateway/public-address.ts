import { networkInterfaces } from 'node:os'
import ipaddr from 'ipaddr.js'

/** Azure answers machines there, credentials included, at an address that looks like anybody's. */
const AZURE_WIRE_SERVER = '168.63.129.16'
/** What is given out of IPv6: everything else is special, or will be. (IANA IPv6 Global Unicast Address Assignments) */
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3')

/**
 * Those that belong to the public internet: nothing local, private, reserved, translated or tunnelled (IANA's special-purpose
 * registries), and none of this machine's own.
 */
export function findPublic<Entry extends { address: string }>(entries: readonly Entry[]): Entry[] {
  const own = new Set(
    Object.values(networkInterfaces()).flatMap((list) =>
      (list ?? []).flatMap(({ address }) => (ipaddr.isValid(address) ? [nameOf(address)] : [])),
    ),
  )
  return entries.filter(({ address }) => isPublic(address) && !own.has(nameOf(address)))
}

function isPublic(text: string): boolean {
  if (!ipaddr.isValid(text)) return false
  const address = ipaddr.process(text)
  const known = address.kind() === 'ipv4' || address.match(GLOBAL_UNICAST)
  return known && address.range() === 'unicast' && address.toString() !== AZURE_WIRE_SERVER
}

/** An IPv4 address within IPv6 is that address. */
const nameOf = (address: string): string => ipaddr.process(address).toString()
