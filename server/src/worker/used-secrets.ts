import type { EnvironmentConfig } from '../contract/environment.ts'
import type { GitCredential } from '../gateway/gateway.ts'
import type { RegistryLogin } from '../sandbox/sandbox.ts'
import type { Keyring } from '../sealing/keyring.ts'
import { openSecret } from '../sealing/secret-value.ts'
import type { RunRow } from '../store/runs.ts'
import { gitCredentialOf, type SecretRow } from '../store/secrets.ts'
import type { WorkerContext } from './context.ts'
import type { FencedStore } from './fenced-store.ts'

export interface UsedSecrets {
  /** What commands get. */
  variables: Record<string, string>
  /** What stays in the gateway. */
  credentials: GitCredential[]
  /** What images are pulled with. */
  logins: RegistryLogin[]
  /** Everything that nobody is to read in the log. */
  values: string[]
  /** Which secrets they are, and which versions of them. */
  versions: string[]
}

/** The secrets that the environment names, in clear; or the names of those that the run cannot have. */
export async function readUsedSecrets(
  { settings }: WorkerContext,
  store: FencedStore,
  run: RunRow,
  { secrets: names = [] }: EnvironmentConfig,
): Promise<UsedSecrets | { missing: string[] }> {
  if (names.length === 0) return openSecrets(settings.seal_key, [])
  const rows = await store.readSecrets(names, run)
  const missing = names.filter((name) => !rows.some((row) => row.name === name))
  if (missing.length > 0) return { missing }
  await store.noteSecrets(names, run)
  return openSecrets(settings.seal_key, rows)
}

/** By what each is for. */
export function openSecrets(seal_key: Keyring, rows: readonly SecretRow[]): UsedSecrets {
  const used: UsedSecrets = { variables: {}, credentials: [], logins: [], values: [], versions: [] }
  for (const row of rows) {
    const secret = openSecret(seal_key, row)
    used.values.push(secret)
    used.versions.push([row.scope, row.owner_id, row.name, row.version].join(' '))
    if (row.registry) {
      used.logins.push({ ...row.registry, password: secret, name: row.name })
      continue
    }
    if (!row.git) {
      used.variables[row.name] = secret
      continue
    }
    used.credentials.push(gitCredentialOf(row.name, row.git, secret))
  }
  return used
}
