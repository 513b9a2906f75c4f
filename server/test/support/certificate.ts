import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryDirectory } from './service.ts'

/** A certificate that signs itself, for an address or a name; nobody trusts it who is not told to (`cert_file`). */
export function makeCertificate(name: string): { key: Buffer; cert: Buffer; cert_file: string } {
  const directory = temporaryDirectory('certificate')
  const [key, cert] = [join(directory, 'key'), join(directory, 'cert')]
  const alternative = /^[\d.]+$/.test(name) ? `IP:${name}` : `DNS:${name}`
  const subject = ['-subj', '/CN=test', '-addext', `subjectAltName=${alternative}`]
  const made = [
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-days',
    '2',
    '-keyout',
    key,
    '-out',
    cert,
  ]
  execFileSync('openssl', ['req', '-x509', ...made, ...subject], { stdio: 'ignore' })
  return { key: readFileSync(key), cert: readFileSync(cert), cert_file: cert }
}
