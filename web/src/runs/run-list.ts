import { type ListRunsResponse, NotFoundError, type RunItem, type Runyard } from '@runyard/client'
import {
  type InfiniteData,
  keepPreviousData,
  useInfiniteQuery,
  useQuery,
  useQueryClient,
} from '@tanstack/react-query'
import { useEffect, useMemo } from 'react'
import { useAccess } from '../client.ts'
import { isGone, useGoneRuns } from './deletions.ts'
import { type RunSearch, toListParams } from './run-search.ts'

const PAGE = 100
/** How often the list asks whether there are newer runs: what it shows already comes by the event stream. */
const NEWER_MS = 4_000
/** The most that one stream follows. */
const MOST_FOLLOWED = 200
const OPEN: readonly string[] = ['QUEUED', 'CLAIMED', 'INPROGRESS', 'BLOCKED']

type Pages = InfiniteData<ListRunsResponse, string | undefined>

/**
 * The runs of a search, page by page, kept right while it is open. Until they have been read, those of the search before
 * stay (`isPlaceholderData`), so that the page does not jump with each letter that is typed.
 */
export function useRunList(search: RunSearch) {
  const { client } = useAccess()
  const params = toListParams(search)
  const queryKey = ['runs', 'list', params]
  const list = useInfiniteQuery({
    queryKey,
    queryFn: async ({ pageParam, signal }): Promise<ListRunsResponse> => {
      const { runs, page_info } = await client.runs.list(
        { ...params, limit: PAGE, ...(pageParam ? { cursor: pageParam } : {}) },
        { signal },
      )
      return { runs, page_info }
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.page_info.next_cursor,
    placeholderData: keepPreviousData,
  })
  const is_read = list.data !== undefined && !list.isPlaceholderData
  const runs = useMemo(() => list.data?.pages.flatMap((page) => page.runs) ?? [], [list.data])
  useNewerRuns(queryKey, params, is_read ? (runs[0]?.created_at ?? null) : undefined)
  useLiveStates(client, queryKey, runs)
  return { ...list, runs, hasNextPage: is_read && list.hasNextPage }
}

/** Reads the list again when there are runs newer than its first. `newest`: null of an empty list, undefined before it is read. */
function useNewerRuns(
  queryKey: readonly unknown[],
  params: ReturnType<typeof toListParams>,
  newest: string | null | undefined,
): void {
  const { client } = useAccess()
  const queries = useQueryClient()
  const { data: has_newer } = useQuery({
    queryKey: ['runs', 'newer', params, newest],
    queryFn: async ({ signal }) => {
      const since = newest ? { created_after: newest } : {}
      const { runs } = await client.runs.list({ ...params, ...since, limit: 2 }, { signal })
      return runs.some((run) => run.created_at !== newest)
    },
    enabled: newest !== undefined,
    refetchInterval: NEWER_MS,
    staleTime: 0,
  })
  const key = JSON.stringify(queryKey)
  useEffect(() => {
    if (has_newer) queries.invalidateQueries({ queryKey: JSON.parse(key) })
  }, [queries, key, has_newer])
}

/** Follows those that are open, in one stream. */
function useLiveStates(client: Runyard, queryKey: readonly unknown[], runs: readonly RunItem[]): void {
  const queries = useQueryClient()
  const gone = useGoneRuns()
  const open = runs
    .filter(({ run_id, state }) => OPEN.includes(state) && !gone.has(run_id))
    .slice(0, MOST_FOLLOWED)
    .map(({ run_id }) => run_id)
    .join()
  const key = JSON.stringify(queryKey)
  useEffect(() => {
    if (open === '') return
    const abort = new AbortController()
    const read = async (run_id: string) => {
      const run = await client.runs.retrieve(run_id, { signal: abort.signal }).catch((error) => {
        // Deleted by somebody else: the other runs are followed on.
        if (error instanceof NotFoundError) return undefined
        throw error
      })
      if (!run) {
        queries.invalidateQueries({ queryKey: JSON.parse(key) })
        return
      }
      queries.setQueryData<Pages>(JSON.parse(key), (pages) => replaceRun(pages, run))
      queries.invalidateQueries({ queryKey: ['runs', 'attention'] })
    }
    const follow = async () => {
      const stream = client.runs.streamMany({
        run_ids: open.split(','),
        // A little before now: what happened since the list was read.
        since: new Date(Date.now() - 10_000),
        signal: abort.signal,
        maxRetries: Number.MAX_SAFE_INTEGER,
        maxReconnects: Number.MAX_SAFE_INTEGER,
      })
      for await (const event of stream)
        if (event.type === 'run.state' && !isGone(event.run_id)) await read(event.run_id)
    }
    // What ends the stream for good (a deleted run, a key that was revoked) the next read of the list says.
    follow().catch(() => queries.invalidateQueries({ queryKey: JSON.parse(key), refetchType: 'none' }))
    return () => abort.abort()
  }, [client, queries, key, open])
}

const replaceRun = (pages: Pages | undefined, run: RunItem): Pages | undefined =>
  pages && {
    ...pages,
    pages: pages.pages.map((page) => ({
      ...page,
      runs: page.runs.map((known) =>
        known.run_id === run.run_id ? { ...run, prompt: known.prompt } : known,
      ),
    })),
  }
