import type { EnvironmentConfig } from '../contract/environment.ts'
import { gitCredentialOf } from '../contract/secret.ts'
import type { GitCredential } from '../gateway/gateway.ts'
import type { RegistryLogin } from '../sandbox/sandbox.ts'
import type { RunRow } from '../store/runs.ts'
import type { FencedStore } from './fenced-store.ts'
import type { UsedSecret } from './held-run.ts'

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
  store: FencedStore,
  run: RunRow,
  { secrets: names = [] }: EnvironmentConfig,
): Promise<UsedSecrets | { missing: string[] }> {
  const used = names.length === 0 ? [] : await store.useSecrets(names, run)
  return 'missing' in used ? used : sortSecrets(used)
}

/** By what each is for. */
export function sortSecrets(secrets: readonly UsedSecret[]): UsedSecrets {
  const used: UsedSecrets = { variables: {}, credentials: [], logins: [], values: [], versions: [] }
  for (const { name, value, version, git, registry } of secrets) {
    used.values.push(value)
    used.versions.push(version)
    if (registry) used.logins.push({ ...registry, password: value, name })
    else if (git) used.credentials.push(gitCredentialOf(name, git, value))
    else used.variables[name] = value
  }
  return used
}
