import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { CommandFailure } from './failure.ts'
import { oneLine } from './one-line.ts'

/** What all entries are called in the system's keyring. */
const SERVICE = 'runyard'
/** Of Linux never the kernel's own, which forgets all when the machine is started anew. */
const OPTIONS = { linux: { store: 'secret-service' } } as const
const LIBRARY = '@napi-rs/keyring'
/** A keyring that is locked may wait for somebody at the machine's own screen. */
const LIMIT_MS = 10_000

/** Whether a keyring may be asked for: of macOS, of Windows, or of a desktop's session. On servers there is none. */
const mayHaveKeyring = ({ DBUS_SESSION_BUS_ADDRESS }: NodeJS.ProcessEnv): boolean =>
  process.platform === 'darwin' ||
  process.platform === 'win32' ||
  (process.platform === 'linux' && Boolean(DBUS_SESSION_BUS_ADDRESS))

const require = createRequire(import.meta.url)

/** Loaded where a keyring is used: it is a native library, and most commands need none. */
function openEntry(id: string) {
  const { Entry } = require(LIBRARY) as typeof import('@napi-rs/keyring')
  return new Entry(SERVICE, id, OPTIONS)
}

/** Keeps a secret, reads it back, and takes it away again where what comes back differs. */
const KEEP = `
  const [library, id, secret, service, options] = JSON.parse(require('node:fs').readFileSync(0, 'utf8'))
  const entry = new (require(library).Entry)(service, id, options)
  entry.setPassword(secret)
  if (entry.getPassword() !== secret) {
    entry.deletePassword()
    process.exit(1)
  }`

/**
 * False where the system has no keyring, or it does not give back what it was given: it may be locked, with nobody to unlock it. In
 * a process of its own, since a call of the library cannot be ended.
 */
export function keepInKeyring(id: string, secret: string, environment: NodeJS.ProcessEnv): boolean {
  if (!mayHaveKeyring(environment)) return false
  try {
    const library = require.resolve(LIBRARY)
    const input = JSON.stringify([library, id, secret, SERVICE, OPTIONS])
    const { status } = spawnSync(process.execPath, ['-e', KEEP], {
      ...{ input, timeout: LIMIT_MS, killSignal: 'SIGKILL', env: environment },
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    return status === 0
  } catch {
    return false
  }
}

/** Throws where it does not give it. */
export function readFromKeyring(id: string, login: string): string {
  let secret: string | null
  try {
    secret = openEntry(id).getPassword()
  } catch (error) {
    const reason = oneLine(error instanceof Error ? error.message : String(error))
    throw new CommandFailure(`The system's keyring does not give the key of the login ${login}: ${reason}.`, {
      hint: 'unlock the keyring; where there is none, log in again with --no-keyring, or set RUNYARD_BASE_URL and RUNYARD_API_KEY',
    })
  }
  if (secret !== null) return secret
  throw new CommandFailure(`The system's keyring has no key for the login ${login} any more.`, {
    hint: 'log in again: runyard login URL',
  })
}

/** False where the keyring cannot be reached: what it holds stays there. */
export function forgetInKeyring(id: string): boolean {
  try {
    openEntry(id).deletePassword()
    return true
  } catch {
    return false
  }
}
