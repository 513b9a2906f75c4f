import type { ApiKey, NewApiKey } from '@runyard/client'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useAccess } from '../client.ts'
import { sessionQuery } from '../shell/session.ts'
import { usePages } from '../ui/paged-rows.tsx'

const KEYS = 'api-keys'
const PAGE = 100
const RANKS = { viewer: 0, member: 1, admin: 2 } as const

/** Keys page by page, newest first: of one user or identity, or all that this person sees. */
export function useKeyList(principal_id?: string) {
  const { client } = useAccess()
  return usePages<ApiKey>([KEYS, principal_id ?? null], async (cursor, options) => {
    const { api_keys, page_info } = await client.apiKeys.list(
      { limit: PAGE, ...(principal_id ? { principal_id } : {}), ...cursor },
      options,
    )
    return { items: api_keys, page_info }
  })
}

/** A change of keys, after which every list is read again: people and identities have keys, too. */
export function useKeyChange<V, K extends ApiKey | NewApiKey>(change: (value: V) => Promise<K>) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: change,
    onSuccess: () => queries.invalidateQueries(),
  })
}

/** Whether this person may rotate and revoke a key they see: everybody their own, up to their role. */
export function useMayChangeKey(): (key: Pick<ApiKey, 'role' | 'active'>) => boolean {
  const { data: session } = useQuery(sessionQuery)
  return ({ role, active }) => active && !!session && RANKS[role] <= RANKS[session.role]
}
