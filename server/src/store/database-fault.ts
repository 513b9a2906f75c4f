/** What an error of PostgreSQL, or on the way to it, means to whoever runs the service: what is wrong and what helps. */

export interface DatabaseFault {
  /** Begins with "PostgreSQL"; holds no names of hosts, users or databases, so that anybody may read it. */
  reason: string
  /** Waiting may help. Otherwise nothing gets better before somebody changes something. */
  passing: boolean
}

/** How the database is reached, as far as it may be shown and matters for what is said. */
export interface DatabaseAddress {
  /** `postgres://USER@HOST:PORT/DATABASE`: no password, no parameters. */
  shown: string
  has_password: boolean
  has_tls: boolean
}

const UNREACHABLE =
  'PostgreSQL does not answer: check host and port in DATABASE_URL, firewalls on the way, and how busy it is.'
const NO_SOCKET =
  'PostgreSQL has no socket there that this user may open: start it, or correct the path in DATABASE_URL.'
const UNKNOWN_HOST =
  'PostgreSQL cannot be found: the host name in DATABASE_URL is not known. Correct it, or wait for its name to appear.'
const CLOSED =
  'PostgreSQL closed the connection: it may be restarting; or something else than PostgreSQL answers at that port.'

/** By SQLSTATE or the code Node gives. */
const PASSING: Record<string, string> = {
  ECONNREFUSED:
    'PostgreSQL does not listen there: start it, or correct host and port in DATABASE_URL (on its side: listen_addresses).',
  ENOTFOUND: UNKNOWN_HOST,
  EAI_AGAIN: UNKNOWN_HOST,
  ENOENT: NO_SOCKET,
  EACCES: NO_SOCKET,
  ETIMEDOUT: UNREACHABLE,
  EHOSTUNREACH: UNREACHABLE,
  ENETUNREACH: UNREACHABLE,
  ECONNRESET: CLOSED,
  EPIPE: CLOSED,
  '08006': CLOSED,
  '57P01': CLOSED,
  '57P02': CLOSED,
  '57P03': 'PostgreSQL is starting or stopping: it takes no connections at the moment.',
  '53100': 'PostgreSQL has no disk space left: free some where its data is.',
  '53200': 'PostgreSQL has no memory left.',
  '53300':
    'PostgreSQL has no connection left: raise its max_connections, or stop something. `serve` takes up to 11, `worker` 12.',
  '25006': 'PostgreSQL takes no writes here, it is a standby: DATABASE_URL must lead to the primary.',
}

const CERTIFICATE =
  'PostgreSQL shows a certificate that is not trusted here: name its authority with ?sslmode=verify-full&sslrootcert=FILE, and the host as the certificate does.'
const NOT_ALLOWED =
  'PostgreSQL does not let this user do that: it must own the database (alter database NAME owner to USER) and the tables, so run `migrate` as the same user as the rest.'

const LASTING: Record<string, string> = {
  '28P01':
    'PostgreSQL refuses user or password: correct DATABASE_URL (what is special in a URL as %XX), or set it: alter role USER password …',
  '3D000': 'PostgreSQL has no such database: create database NAME owner USER.',
  '42501': NOT_ALLOWED,
  DEPTH_ZERO_SELF_SIGNED_CERT: CERTIFICATE,
  SELF_SIGNED_CERT_IN_CHAIN: CERTIFICATE,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: CERTIFICATE,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: CERTIFICATE,
  CERT_HAS_EXPIRED: CERTIFICATE,
  ERR_TLS_CERT_ALTNAME_INVALID: CERTIFICATE,
}

const NO_PASSWORD =
  'PostgreSQL asks for a password and DATABASE_URL has none: write postgres://USER:PASSWORD@HOST/NAME, or set PGPASSWORD.'
const NO_LOGIN = "PostgreSQL has no such user, or it may not log in: create role USER login password '…'."
const OTHER_PROOF =
  'PostgreSQL wants another proof than a password (peer, ident or a certificate): in its pg_hba.conf give this user scram-sha-256.'
const NOT_LET_IN =
  'PostgreSQL has no line in its pg_hba.conf that lets this user in from here: add one (host NAME USER ADDRESS scram-sha-256) and reload.'
const NO_TLS =
  'PostgreSQL has TLS switched off: switch it on there (ssl = on), or take sslmode out of DATABASE_URL.'
const NO_TRIGRAMS =
  'PostgreSQL lacks the extension pg_trgm: install the contrib package of its version (on Debian postgresql-contrib).'
const NO_FILE =
  'PostgreSQL cannot be asked: a file that DATABASE_URL names (sslrootcert, sslcert, sslkey) cannot be read.'

/** Oldest that has all the SQL of the store. */
const OLDEST = 14

export const tooOld = (version_num: number): string =>
  `PostgreSQL ${OLDEST} or later is needed, and this is ${Math.floor(version_num / 10_000)}: upgrade it.`

export const isTooOld = (version_num: number): boolean => version_num < OLDEST * 10_000

export const otherEncoding = (encoding: string): string =>
  `PostgreSQL keeps this database in ${encoding}, and UTF8 is needed: create database NAME owner USER encoding 'UTF8' template template0.`

/** `null` for an error that says nothing about the connection or the setup. */
export function explainFault(error: unknown, address: DatabaseAddress): DatabaseFault | null {
  if (!(error instanceof Error)) return null
  const { code, routine, syscall } = error as { code?: unknown; routine?: unknown; syscall?: unknown }
  const lasting = (reason: string): DatabaseFault => ({ reason, passing: false })
  const passing = (reason: string): DatabaseFault => ({ reason, passing: true })
  // The library's words, where neither the server nor the system had any.
  if (/client password must be a/.test(error.message)) return lasting(NO_PASSWORD)
  if (/does not support SSL/.test(error.message)) return lasting(NO_TLS)
  if (/timeout/i.test(error.message) && code === undefined) return passing(UNREACHABLE)
  if (/Connection terminated|Client has encountered/.test(error.message)) return passing(CLOSED)
  if (typeof code !== 'string') return null
  if (code === '28P01' && !address.has_password) return lasting(NO_PASSWORD)
  // What the server says may be in any language; where in its source it said it is the same in all.
  if (code === '28000') {
    if (routine === 'InitializeSessionUserId') return lasting(NO_LOGIN)
    if (routine === 'auth_failed') return lasting(OTHER_PROOF)
    const tls = address.has_tls
      ? ''
      : ' Where it takes only TLS (hostssl): ?sslmode=verify-full in DATABASE_URL.'
    return lasting(NOT_LET_IN + tls)
  }
  if (code === 'ENOENT' && syscall === 'open') return lasting(NO_FILE)
  if (/^(0A000|58P01)$/.test(code) && /pg_trgm/.test(error.message)) return lasting(NO_TRIGRAMS)
  if (LASTING[code]) return lasting(LASTING[code])
  return PASSING[code] ? passing(PASSING[code]) : null
}

/** The reason for the operator, who may know where. */
export const placed = (reason: string, { shown }: DatabaseAddress): string =>
  reason.replace(/^PostgreSQL/, `PostgreSQL at ${shown}`)

/** What of a URL may be shown. pg takes an empty host after a user's name, which `URL` does not. */
export function readAddress(url: string): DatabaseAddress {
  const parsed = new URL(url.replace('@/', '@localhost/'))
  const { username, host, pathname, searchParams } = parsed
  const place = searchParams.get('host') ?? host
  return {
    shown: `postgres://${username ? `${username}@` : ''}${place}${pathname}`,
    has_password: Boolean(parsed.password || searchParams.get('password') || process.env.PGPASSWORD),
    has_tls: /^(require|verify-|no-verify|prefer)/.test(searchParams.get('sslmode') ?? ''),
  }
}
