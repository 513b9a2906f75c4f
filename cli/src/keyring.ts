import { createRequire } from 'node:module'
import { CommandFailure } from './failure.ts'
import { oneLine } from './one-line.ts'

/** What all entries are called in the system's keyring. */
const SERVICE = 'runyard'

/**
 * Whether a keyring may be asked for: of macOS, of Windows, or of a desktop's session. Of Linux never the kernel's own, which forgets
 * all when the machine is started anew; on servers there is none.
 */
const mayHaveKeyring = ({ DBUS_SESSION_BUS_ADDRESS }: NodeJS.ProcessEnv): boolean =>
  process.platform === 'darwin' ||
  process.platform === 'win32' ||
  (process.platform === 'linux' && Boolean(DBUS_SESSION_BUS_ADDRESS))

/** Loaded where a keyring is used: it is a native library, and most commands need none. */
function openEntry(id: string) {
  const { Entry } = createRequire(import.meta.url)('@napi-rs/keyring') as typeof import('@napi-rs/keyring')
  return new Entry(SERVICE, id, { linux: { store: 'secret-service' } })
}

/** False where the system has no keyring, or it gives nothing back: it may be locked, with nobody to unlock it. */
export function keepInKeyring(id: string, secret: string, environment: NodeJS.ProcessEnv): boolean {
  if (!mayHaveKeyring(environment)) return false
  try {
    const entry = openEntry(id)
    entry.setPassword(secret)
    return entry.getPassword() === secret
  } catch {
    return false
  }
}

/** Throws where it does not give it. */
export function readFromKeyring(id: string, login: string): string {
  let reason = 'it is not there any more'
  try {
    const secret = openEntry(id).getPassword()
    if (secret !== null) return secret
  } catch (error) {
    reason = oneLine(error instanceof Error ? error.message : String(error))
  }
  throw new CommandFailure(`The system's keyring does not give the key of the login ${login}: ${reason}.`, {
    hint: 'unlock the keyring; where there is nobody to do so, log in again with --no-keyring, or set RUNYARD_BASE_URL and RUNYARD_API_KEY',
  })
}

/** What is not there is forgotten; what cannot be reached stays, a key that its server no longer takes. */
export function forgetInKeyring(id: string): void {
  try {
    openEntry(id).deletePassword()
  } catch {}
}
