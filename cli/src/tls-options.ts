import { resolvePath } from './current-process.ts'
import { usageFailure } from './failure.ts'

export const TLS_CERT = [
  '--tls-cert <file>',
  'certificate in PEM, and those that signed it; with --tls-key. Changes are taken up',
] as const
export const TLS_KEY = ['--tls-key <file>', 'its private key in PEM'] as const

/** What HTTPS is served with; without both options plain HTTP is. */
export function tlsOf({
  tlsCert,
  tlsKey,
}: {
  tlsCert?: string
  tlsKey?: string
}): { cert_file: string; key_file: string } | undefined {
  if (tlsCert === undefined && tlsKey === undefined) return undefined
  if (!tlsCert || !tlsKey) throw usageFailure('--tls-cert and --tls-key go together.')
  return { cert_file: resolvePath(tlsCert), key_file: resolvePath(tlsKey) }
}
