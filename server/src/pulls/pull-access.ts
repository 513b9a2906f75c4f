import type { MergeMethod } from '../contract/pull-request.ts'
import { gitCredentialOf } from '../contract/secret.ts'
import type { GitCredential } from '../gateway/gateway.ts'
import type { Keyring } from '../sealing/keyring.ts'
import { openSecret } from '../sealing/secret-value.ts'
import type { Store } from '../store/db.ts'
import { findEnvironment } from '../store/environments.ts'
import type { RunRow } from '../store/runs.ts'
import { readSecrets } from '../store/secrets.ts'

/** With what the pull requests of a run are asked for, as its environment has it now. */
export interface PullAccess {
  /** Secrets; what the operator gives is none. */
  names: string[]
  credentials: GitCredential[]
  /** `null`: none of them is merged here. */
  merge_method: MergeMethod | null
}

interface Sources {
  store: Store
  keyring: Keyring
  git_credential: GitCredential | null
}

/** The secrets that the run would push with now. */
export async function readPullAccess(
  { store: { db }, keyring, git_credential }: Sources,
  { run_id, environment_id, principal_id, scope }: RunRow,
): Promise<PullAccess> {
  const environment = environment_id === null ? null : await findEnvironment(db, environment_id)
  const { secrets: names = [], merge_method = null } = environment?.config ?? {}
  const rows = await readSecrets(db, names, { principal_id, personal: scope === 'User', run_id })
  const credentials = rows.flatMap((row) => {
    if (!row.git) return []
    try {
      return [gitCredentialOf(row.name, row.git, openSecret(keyring, row))]
    } catch {
      // Sealed with a key that this service does not have: as if it were not there.
      return []
    }
  })
  const given = git_credential ? [git_credential] : []
  return { names: credentials.map(({ name }) => name), credentials: [...credentials, ...given], merge_method }
}
