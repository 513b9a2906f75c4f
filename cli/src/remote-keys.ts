import type { ApiKey, Runyard } from '@runyard/client'
import type { KeyListing, Keys } from '../../server/src/main.ts'

const MINUTE_MS = 60_000

/** The keys of a service over HTTP, as at its database. What it refuses throws, and says why. */
export function remoteKeys({ apiKeys }: Runyard): Keys {
  return {
    create: async ({ name, role, pool, principal_id }) => {
      const owner = principal_id === undefined ? { new_user: true } : { principal_id }
      return newKey(await apiKeys.create({ name, ...(pool === undefined ? { role } : { pool }), ...owner }))
    },
    rotate: async (key_id, grace_ms) =>
      newKey(await apiKeys.rotate(key_id, { grace_minutes: Math.ceil(grace_ms / MINUTE_MS) })),
    // Oldest first, as at the database.
    list: async () => (await Array.fromAsync(apiKeys.list({ limit: 500 }))).map(listing).reverse(),
    revoke: async (key_id) => {
      await apiKeys.revoke(key_id)
      return true
    },
  }
}

const newKey = ({ api_key, key_id, principal }: ApiKey & { api_key: string }) => ({
  ...{ api_key, key_id },
  principal_id: principal.uid,
})

const timeOf = (text: string | undefined): Date | null => (text === undefined ? null : new Date(text))

const listing = ({ principal, masked, ...key }: ApiKey): KeyListing => ({
  key_id: key.key_id,
  principal_id: principal.uid,
  principal_name: principal.display_name ?? '',
  principal_type: principal.type,
  name: key.name,
  role: key.role,
  pool: key.pool ?? null,
  masked,
  created_at: new Date(key.created_at),
  expires_at: timeOf(key.expires_at),
  grace_until: timeOf(key.grace_until),
  replaces: key.replaces ?? null,
  last_used_at: timeOf(key.last_used_at),
  revoked_at: timeOf(key.revoked_at),
  active: key.active,
})
