import type { Config } from './config.ts'
import { fingerprintOf, readSecretKey } from './data-dir.ts'
import { type Keyring, openKeyring } from './sealing/keyring.ts'
import type { SecretFingerprints } from './store/installation.ts'

type KeyConfig = Pick<Config, 'data_dir' | 'secret_key' | 'old_secret_keys'>

/** The keys that values are sealed and opened with. */
export const readKeyring = ({ data_dir, secret_key, old_secret_keys }: KeyConfig): Keyring =>
  openKeyring(readSecretKey(data_dir, secret_key), old_secret_keys)

/** What tells these keys from those of other processes. */
export const fingerprintsOf = ({ data_dir, secret_key, old_secret_keys }: KeyConfig): SecretFingerprints => ({
  current: fingerprintOf(readSecretKey(data_dir, secret_key)),
  old: old_secret_keys.map(fingerprintOf),
})
