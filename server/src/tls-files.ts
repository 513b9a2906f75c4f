/** The certificate that HTTPS is served with, and its key: two files that somebody else renews. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Server } from 'node:https'
import { createSecureContext, type SecureContext, type TlsOptions } from 'node:tls'
import type { Logger } from 'pino'
import { AppError } from './contract/error.ts'

export interface TlsFiles {
  cert_file: string
  key_file: string
}

interface Pair {
  cert: Buffer
  key: Buffer
  context: SecureContext
  /** The last day of the certificate. */
  valid_to: Date
}

/** What an HTTPS server is made with, and how it hears of renewed files. */
export interface ServedTls {
  options: TlsOptions
  /** Takes up renewed files until the function that it returns is called. */
  follow(server: Server): () => void
}

/** Contents are compared, not times: a link may be turned to another file, and a file system may keep whole seconds. */
const LOOK_MS = 2_000

const wrong = (detail: string, cause?: unknown): AppError =>
  new AppError('invalid_request', detail, { cause })

/** Throws `invalid_request` with the file that is wrong. Later on, what is wrong is logged and the pair before stays. */
export function openTls(files: TlsFiles, log: Logger): ServedTls {
  let pair = readPair(files)
  warnOfEnd(pair, files, log)
  return {
    options: {
      cert: pair.cert,
      key: pair.key,
      // For the second server of a Fastify that listens on `localhost`, which nobody else can tell.
      SNICallback: (_name, done) => done(null, pair.context),
    },
    follow(server) {
      let complaint = ''
      const look = (): void => {
        try {
          const { cert, key } = readFiles(files)
          if (cert.equals(pair.cert) && key.equals(pair.key)) {
            complaint = ''
            return
          }
          pair = checkPair({ cert, key }, files)
          server.setSecureContext({ cert, key })
          complaint = ''
          log.info({ valid_to: pair.valid_to }, 'The certificate was renewed.')
          warnOfEnd(pair, files, log)
        } catch (error) {
          // Between the two files being written, or left wrong: said once.
          const reason = error instanceof AppError ? error.detail : String(error)
          if (reason !== complaint) log.warn(`${reason} The certificate from before is still used.`)
          complaint = reason
        }
      }
      const timer = setInterval(look, LOOK_MS).unref()
      return () => clearInterval(timer)
    },
  }
}

const readPair = (files: TlsFiles): Pair => checkPair(readFiles(files), files)

const readFiles = ({ cert_file, key_file }: TlsFiles): { cert: Buffer; key: Buffer } => ({
  cert: readOne('--tls-cert', cert_file),
  key: readOne('--tls-key', key_file),
})

const REASONS: Partial<Record<string, string>> = {
  ENOENT: 'is not there',
  EACCES: 'may not be read by this user',
  EPERM: 'may not be read by this user',
  EISDIR: 'is a folder',
}

function readOne(option: string, file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    throw wrong(`${option}: ${file} ${REASONS[code] ?? `cannot be read (${code})`}.`, error)
  }
}

function checkPair({ cert, key }: { cert: Buffer; key: Buffer }, { cert_file, key_file }: TlsFiles): Pair {
  const certificate = attempt(
    () => new X509Certificate(cert),
    `--tls-cert: ${cert_file} has no certificate in PEM.`,
  )
  const private_key = attempt(
    () => createPrivateKey(key),
    /ENCRYPTED/.test(key.toString('latin1'))
      ? `--tls-key: ${key_file} is protected by a passphrase. Give a key without one.`
      : `--tls-key: ${key_file} has no private key in PEM.`,
  )
  if (!certificate.checkPrivateKey(private_key))
    throw wrong(
      `--tls-key: ${key_file} is not the key of the first certificate in ${cert_file}. The server's own comes first, then those that signed it.`,
    )
  const context = attempt(
    () => createSecureContext({ cert, key }),
    (error) => `--tls-cert: ${cert_file} cannot be used: ${error.message}.`,
  )
  return { cert, key, context, valid_to: new Date(certificate.validTo) }
}

function attempt<T>(make: () => T, detail: string | ((error: Error) => string)): T {
  try {
    return make()
  } catch (error) {
    const reason = typeof detail === 'string' ? detail : detail(error as Error)
    throw wrong(reason, error)
  }
}

function warnOfEnd({ valid_to }: Pair, { cert_file }: TlsFiles, log: Logger): void {
  if (valid_to.getTime() < Date.now())
    log.warn({ valid_to }, `The certificate in ${cert_file} has ended: clients will refuse it.`)
}
