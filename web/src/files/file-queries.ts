import type { Runyard } from '@runyard/client'
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'

const PAGE = 500
/** A link lasts 15 minutes. */
const LINK_MS = 10 * 60_000

/** The content of a folder, page by page. It never changes for a turn; which turn is the last one does. */
export const folderQuery = (client: Runyard, run_id: string, path: string, turn: number | undefined) =>
  infiniteQueryOptions({
    queryKey: ['run', run_id, 'files', turn ?? 'last', path],
    queryFn: ({ pageParam, signal }) =>
      client.files.list(run_id, { path, turn, limit: PAGE, cursor: pageParam }, { signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ page_info }) => page_info.next_cursor,
    staleTime: turn === undefined ? 5_000 : Number.POSITIVE_INFINITY,
  })

/** A file, with a link to its bytes. */
export const fileQuery = (client: Runyard, run_id: string, path: string, turn: number) =>
  queryOptions({
    queryKey: ['run', run_id, 'file', turn, path],
    queryFn: ({ signal }) => client.files.retrieve(run_id, { path, turn }, { signal }),
    staleTime: LINK_MS,
  })
