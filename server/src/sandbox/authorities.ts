import { chmodSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { TOOLS_PLACE } from './sandbox.ts'

/** Of the folder that sandboxes have at `TOOLS_PLACE`: certificates of all authorities that their programs are to trust. */
const FILE = 'ca-certificates.pem'

/** Variables that name the file to programs, which read it instead of their own certificates, or beside them. */
const READ_BY = [
  'NODE_EXTRA_CA_CERTS',
  // OpenSSL and what is built on it, Go, uv.
  'SSL_CERT_FILE',
  'CURL_CA_BUNDLE',
  'GIT_SSL_CAINFO',
  'PIP_CERT',
  'REQUESTS_CA_BUNDLE',
  'CARGO_HTTP_CAINFO',
  'AWS_CA_BUNDLE',
]

/** Whether the folder holds certificates for sandboxes. */
export const offersAuthorities = (folder: string): boolean => existsSync(join(folder, FILE))

/** Has programs in sandboxes trust exactly these certificates (PEM); with none, what they bring along. */
export function offerAuthorities(folder: string, certificates: readonly string[]): void {
  const file = join(folder, FILE)
  const text = certificates.map((certificate) => `${certificate.trim()}\n`).join('')
  if (text === '') {
    rmSync(file, { force: true })
    return
  }
  if (offersAuthorities(folder) && readFileSync(file, 'utf8') === text) return
  // As a whole: sandboxes of other workers may read it now.
  const draft = `${file}.${process.pid}`
  writeFileSync(draft, text)
  // For the users of sandboxes, whatever this process leaves to others.
  chmodSync(draft, 0o644)
  renameSync(draft, file)
}

/** Variables of all commands in a sandbox that has this folder. */
export const authorityVariables = (folder: string | null | undefined): Record<string, string> =>
  folder && offersAuthorities(folder)
    ? Object.fromEntries(READ_BY.map((name) => [name, `${TOOLS_PLACE}/${FILE}`]))
    : {}
