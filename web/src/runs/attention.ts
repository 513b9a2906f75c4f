import type { RunItem } from '@runyard/client'
import { useQuery } from '@tanstack/react-query'
import { useAccess } from '../client.ts'
import { type RunSearch, toListParams } from './run-search.ts'

/** Approvals and questions come by the list's stream of states; pull requests are merged elsewhere. */
const ATTENTION_MS = 15_000
const MOST = 50
/** Those that stand above the list; more are a filter away. */
export const SHOWN = 5

/** The runs that somebody has to act on, the newest first, for the list without filters but for whose they are. */
export function useAttention(search: RunSearch): readonly RunItem[] {
  const { client } = useAccess()
  const { creator, ...filters } = search
  const enabled = Object.keys(filters).length === 0
  const params = { ...toListParams(creator ? { creator } : {}), needs_attention: true, limit: MOST }
  const { data } = useQuery({
    queryKey: ['runs', 'attention', params],
    queryFn: async ({ signal }) => (await client.runs.list(params, { signal })).runs,
    refetchInterval: ATTENTION_MS,
    enabled,
  })
  return enabled ? (data ?? []) : []
}
