import { lookup } from 'node:dns/promises'
import { connect, isIP, type LookupFunction, type Socket } from 'node:net'
import { isPrivateHost, judgeTarget, makeRefusal, type Target } from './egress-rules.ts'
import type { EgressRules, Refusal, RefusalReason } from './gateway.ts'
import { findPublic } from './public-address.ts'

const LOOKUP_MS = 10_000
const CONNECT_MS = 15_000
/** Names that one sandbox has looked up at once. Each takes a thread until it is answered, and nothing can take it back. */
const MAX_LOOKUPS = 8

export interface Address {
  address: string
  family: number
}

export class Refused extends Error {
  readonly refusal: Refusal
  constructor(target: Target, reason: RefusalReason) {
    const refusal = makeRefusal(target, reason)
    super(refusal.message)
    this.refusal = refusal
  }
}

/**
 * A name without a public address. A missing name and a failed lookup get the same refusal, because a difference would tell
 * which internal names exist. A retry can succeed: the lookup may have failed only this time.
 */
export class NotPublic extends Refused {
  constructor(target: Target) {
    super(target, 'not_public')
  }
}

/** What could not be done for a target that is allowed. */
export class Unreachable extends Error {}

/** It stays so until somebody changes something. */
export class Unusable extends Unreachable {}

export const unreachable = ({ host, port }: Target): Unreachable =>
  new Unreachable(`${host}:${port} could not be reached.`)

/** Node's names for what is wrong with a certificate (`ERR_TLS_*`, and those of OpenSSL). */
const isUntrusted = (error: unknown): boolean =>
  error instanceof Error &&
  'code' in error &&
  /^ERR_TLS_CERT|CERT|SELF_SIGNED|UNABLE_TO_VERIFY/.test(String(error.code))

/** Why a request by TLS failed. */
export const explainFailure = (target: Target, error: unknown): Unreachable =>
  isUntrusted(error)
    ? new Unusable(
        `${target.host}:${target.port} shows a certificate that is not trusted. NODE_EXTRA_CA_CERTS names a file with your own authorities.`,
      )
    : unreachable(target)

/** Finds the addresses at which one sandbox may reach a target. It throws `Refused`, `Unreachable`. */
export function openDirectory(
  rules: EgressRules,
  max_lookups = MAX_LOOKUPS,
): (target: Target) => Promise<Address[]> {
  const asked = new Map<string, Promise<Address[]>>()

  const ask = (host: string): Promise<Address[]> => {
    const known = asked.get(host)
    if (known) return known
    if (asked.size >= max_lookups) throw new Unreachable('Too many names are being looked up.')
    const asking = lookup(host, { all: true })
    asked.set(host, asking)
    const forget = () => asked.delete(host)
    asking.then(forget, forget)
    return asking
  }

  return async (target) => {
    const { host } = target
    const reason = judgeTarget(rules, target)
    if (reason) throw new Refused(target, reason)
    const family = isIP(host)
    if (family) return [{ address: host, family }]
    const is_private = isPrivateHost(rules, target)
    const found = await within(LOOKUP_MS, ask(host)).catch(() => {
      throw is_private ? new Unreachable(`The name ${host} could not be looked up.`) : new NotPublic(target)
    })
    if (is_private) return found
    const addresses = findPublic(found)
    if (addresses.length === 0) throw new NotPublic(target)
    return addresses
  }
}

async function within<T>(limit_ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(reject, limit_ms, new Error('It took too long.'))
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}

/** Gives the addresses that were checked in place of a lookup. Node asks it for every name, and never for an address. */
export const lookupOf =
  (addresses: Address[]): LookupFunction =>
  (_name, options, done) => {
    const [first] = addresses
    if (options.all) done(null, addresses)
    else done(null, first?.address ?? '', first?.family)
  }

/** Connects to whichever address answers first. Throws `Unreachable`. */
export function dial(target: Target, addresses: Address[]): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ ...target, lookup: lookupOf(addresses), allowHalfOpen: true })
    const fail = () => {
      socket.destroy()
      reject(unreachable(target))
    }
    const timer = setTimeout(fail, CONNECT_MS)
    socket.once('error', fail)
    socket.once('connect', () => {
      clearTimeout(timer)
      socket.off('error', fail)
      resolve(socket)
    })
    socket.once('close', () => clearTimeout(timer))
  })
}
