import { networkInterfaces } from 'node:os'
import ipaddr from 'ipaddr.js'

/** Azure answers machines there, credentials included, at an address that looks like anybody's. */
const AZURE_WIRE_SERVER = '168.63.129.16'
/** What is given out of IPv6: everything else is special, or will be. (IANA IPv6 Global Unicast Address Assignments) */
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3')

/**
 * Whether an address belongs to the public internet: nothing local, private, reserved, translated or tunnelled (IANA's
 * special-purpose registries), and none of this machine's own.
 */
export function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text)) return false
  // An IPv4 address within IPv6 is that address.
  const address = ipaddr.process(text)
  const known = address.kind() === 'ipv4' || address.match(GLOBAL_UNICAST)
  const name = address.toString()
  return known && address.range() === 'unicast' && name !== AZURE_WIRE_SERVER && !isOwn(name)
}

const isOwn = (name: string): boolean =>
  Object.values(networkInterfaces()).some((list) =>
    list?.some(({ address }) => ipaddr.isValid(address) && ipaddr.process(address).toString() === name),
  )
