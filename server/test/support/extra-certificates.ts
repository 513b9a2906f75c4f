import { readFileSync } from 'node:fs'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'

/**
 * Has this process and the gateways that it starts trust the certificates of a file, as `NODE_EXTRA_CA_CERTS` has a process do
 * from its start. Returns how to end it.
 */
export function trustCertificates(file: string): () => void {
  const trusted = getCACertificates('default')
  const before = process.env.NODE_EXTRA_CA_CERTS
  const added = readFileSync(file, 'utf8').match(/-----BEGIN[\s\S]+?-----END CERTIFICATE-----/g) ?? []
  setDefaultCACertificates([...trusted, ...added])
  process.env.NODE_EXTRA_CA_CERTS = file
  return () => {
    setDefaultCACertificates(trusted)
    if (before === undefined) delete process.env.NODE_EXTRA_CA_CERTS
    else process.env.NODE_EXTRA_CA_CERTS = before
  }
}
