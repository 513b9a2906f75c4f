import { join } from 'node:path'
import type { Role } from '../../src/contract/actor.ts'
import { createPrincipalWithKey, revokeKey } from '../../src/store/api-keys.ts'
import type { Db } from '../../src/store/db.ts'
import { openEmbedded } from './databases.ts'
import { apiOf } from './service.ts'

export interface KeySpec {
  role: Role
  expires_at?: Date
  revoked?: boolean
}

/** Makes a principal with one key for each name. */
export async function makeKeys<N extends string>(
  db: Db,
  specs: Record<N, KeySpec>,
): Promise<Record<N, string>> {
  const keys: Partial<Record<N, string>> = {}
  for (const [name, { revoked, ...options }] of Object.entries(specs) as Array<[N, KeySpec]>) {
    const { api_key, key_id } = await createPrincipalWithKey(db, { name, ...options })
    if (revoked) await revokeKey(db, key_id)
    keys[name] = api_key
  }
  return keys as Record<N, string>
}

/** The same of a `dev` that runs, by its admin: a second and a half cheaper than before it does. */
export async function addKeys<N extends string>(
  service: { base_url: string; api_key: string },
  specs: Record<N, Pick<KeySpec, 'role'>>,
): Promise<Record<N, string>> {
  const keys: Partial<Record<N, string>> = {}
  for (const [name, { role }] of Object.entries(specs) as Array<[N, KeySpec]>) {
    const made = await apiOf(service).json<{ api_key: string }>('POST', '/api-keys', {
      ...{ name, role, new_user: true },
    })
    keys[name] = made.api_key
  }
  return keys as Record<N, string>
}

/** The same in the embedded database of a `dev` that has not started yet: a running one owns its data directory. */
export async function seedKeys<N extends string>(
  data_dir: string,
  specs: Record<N, KeySpec>,
): Promise<Record<N, string>> {
  const store = await openEmbedded(join(data_dir, 'db'))
  try {
    return await makeKeys(store.db, specs)
  } finally {
    await store.close()
  }
}
