import { isIP } from 'node:net'
import type { EgressRules, Refusal, RefusalReason } from './gateway.ts'

/** Where a client wants to go, its host as it is compared: lower case, without a dot at its end. */
export interface Target {
  host: string
  port: number
}

/** Names of the machine that asks, whatever a directory says (RFC 6761 §6.3). */
const LOOPBACK = /(^|\.)localhost$/

/** Ports of the web. */
const PORTS = [80, 443]

/** `host:port` as in CONNECT (RFC 9110 §9.3.6), or what precedes a path; `null` where it is none. */
export function readTarget(authority: string, default_port?: number): Target | null {
  // Every way to write an address (2130706433, 0x7f.1, ::ffff:127.0.0.1) comes out as that address (WHATWG URL).
  const url = URL.parse(`http://${authority}/`)
  if (!url || url.username || url.password || url.pathname !== '/' || url.search || url.hash) return null
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  if (!isIP(host) && !/^(?=.{1,253}$)[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?$/.test(host)) return null
  // The URL leaves out the port of its scheme.
  const written = /:(\d+)$/.exec(authority)?.[1]
  const port = written === undefined ? default_port : Number(written)
  return port ? { host, port } : null
}

/** Why a target is refused whatever its addresses are; `null` where it may be looked up. */
export function judgeTarget(rules: EgressRules, { host, port }: Target): RefusalReason | null {
  const names = (text: string) => rules.hosts?.some((pattern) => matches(pattern, text)) ?? false
  const with_port = names(`${host}:${port}`)
  if (rules.hosts && !with_port && !names(host)) return 'not_listed'
  if (isPrivateHost(rules, { host, port })) return null
  // One that the operator names is named for other ports.
  if (isIP(host)) return rules.private_hosts.includes(host) ? 'port' : 'no_name'
  if (!with_port && !PORTS.includes(port)) return 'port'
  return LOOPBACK.test(host) ? 'not_public' : null
}

/** Whether the operator vouches for the target: its addresses are not looked at. */
export const isPrivateHost = ({ private_hosts }: EgressRules, { host, port }: Target): boolean =>
  private_hosts.includes(`${host}:${port}`) || (private_hosts.includes(host) && PORTS.includes(port))

const matches = (pattern: string, text: string): boolean =>
  pattern.startsWith('*.') ? text.endsWith(pattern.slice(1)) : text === pattern

export function makeRefusal({ host, port }: Target, reason: RefusalReason): Refusal {
  const reasons: Record<RefusalReason, string> = {
    not_listed: `the environment does not allow the host ${host}`,
    no_name: `addresses without a name are not allowed (${host})`,
    // The same for a name that is not there, so that nobody learns which internal names are.
    not_public: `${host} has no public address that could be looked up, and RUNYARD_PRIVATE_HOSTS does not name it`,
    port: `port ${port} is not allowed, only ${PORTS.join(' and ')} where the host is named without one`,
    server_name: `the connection to ${host} asks for another server name`,
  }
  return { host, port, reason, message: `Refused by the network policy: ${reasons[reason]}.` }
}
