import type { RunItem } from '@runyard/client'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { useAccess } from '../client.ts'
import { pullsQuery } from '../run/run-queries.ts'
import { useGoneRuns } from './deletions.ts'
import { taskOf } from './row-facts.ts'
import { type RunSearch, toListParams } from './run-search.ts'

/** Approvals and questions come by the list's stream of states as well. */
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

/** Runs whose pull requests are asked for at their hosts, once a minute each: a host limits what it answers. */
const MOST_ASKED = 10
const AT_ONCE = 2
const PULLS_MS = 60_000

/** Reads the list again when a pull request that waits to be merged turns out to be merged or closed at its host. */
export function useFreshPulls(runs: readonly RunItem[]): void {
  const { client } = useAccess()
  const queries = useQueryClient()
  const gone = useGoneRuns()
  const asked = runs
    .filter((run) => taskOf(run) === 'Merge' && !gone.has(run.run_id))
    .slice(0, MOST_ASKED)
    .map(({ run_id }) => run_id)
  const { data: settled = '' } = useQuery({
    queryKey: ['settled-pulls', asked],
    queryFn: async ({ signal }) => {
      const urls: string[] = []
      for (let at = 0; at < asked.length && !signal.aborted; at += AT_ONCE) {
        const answers = await Promise.allSettled(
          asked
            .slice(at, at + AT_ONCE)
            .map((run_id) => queries.fetchQuery({ ...pullsQuery(client, run_id), staleTime: PULLS_MS })),
        )
        for (const { url, state } of answers.flatMap((each) =>
          each.status === 'fulfilled' ? each.value : [],
        ))
          if (state === 'merged' || state === 'closed') urls.push(url)
      }
      return urls.join(' ')
    },
    enabled: asked.length > 0,
    staleTime: PULLS_MS,
    refetchInterval: PULLS_MS,
    refetchOnWindowFocus: false,
  })
  useEffect(() => {
    if (settled === '') return
    for (const name of ['list', 'attention']) queries.invalidateQueries({ queryKey: ['runs', name] })
  }, [queries, settled])
}
