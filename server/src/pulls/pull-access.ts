import type { MergeMethod } from '../contract/pull-request.ts'
import type { GitCredential } from '../gateway/gateway.ts'
import type { Keyring } from '../sealing/keyring.ts'
import { openSecret } from '../sealing/secret-value.ts'
import { appendAudit } from '../store/audit-log.ts'
import type { Store } from '../store/db.ts'
import { findEnvironment } from '../store/environments.ts'
import type { RunRow } from '../store/runs.ts'
import { gitCredentialOf, readSecrets } from '../store/secrets.ts'

/** With what the pull requests of a run are asked for, as its environment has it now. */
export interface PullAccess {
  credentials: GitCredential[]
  /** `null`: none of them is merged here. */
  merge_method: MergeMethod | null
}

interface Sources {
  store: Store
  keyring: Keyring
  git_credential: GitCredential | null
}

/** The secrets that the run itself pushes with. `merged_by`: who merges with them, for the audit log; `null`: they only read. */
export async function readPullAccess(
  { store: { db }, keyring, git_credential }: Sources,
  { run_id, environment_id, principal_id, scope }: RunRow,
  merged_by: string | null,
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
  if (credentials.length > 0) {
    const detail = credentials.map(({ name }) => name).join(' ')
    const entry = { action: 'useSecrets', target: run_id, via: 'service', detail } as const
    await appendAudit(db, [{ ...entry, principal_id: merged_by ?? principal_id }])
  }
  return { credentials: [...credentials, ...(git_credential ? [git_credential] : [])], merge_method }
}
