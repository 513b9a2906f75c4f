import type { ApiKey, Runyard } from '@runyard/client'
import { CommandFailure } from './failure.ts'

/** As the server shows it. */
export const maskKey = (key: string): string => `${key.slice(0, 7)}…${key.slice(-4)}`

/** What the server knows of the key that it is asked with. */
export async function findOwnKey(client: Runyard, api_key: string): Promise<ApiKey> {
  const masked = maskKey(api_key)
  for await (const key of client.apiKeys.list({ limit: 100 }))
    if (key.active && key.masked === masked) return key
  throw new CommandFailure('The server answers, but does not list this key.', {
    hint: 'an admin can see whose it is: runyard keys list',
  })
}

/** Whose key it is, and what it may do. */
export const describeOwner = ({ principal, role, name }: ApiKey): string => {
  const kind = principal.type === 'service_account' ? 'service account' : 'user'
  return `${principal.display_name ?? principal.uid} (${kind}, ${role}), key "${name}"`
}
