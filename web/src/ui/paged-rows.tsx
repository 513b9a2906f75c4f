import type { PageInfo } from '@runyard/client'
import { useInfiniteQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { Button } from './button.tsx'
import { Rows } from './page-head.tsx'
import { Problem } from './problem.tsx'
import { SkeletonRows } from './skeleton.tsx'

/** One page of a list, and where the next one begins. */
export interface Page<Item> {
  items: Item[]
  page_info: PageInfo
}

/** What asks for a page: the cursor of the one before, none for the first. */
export type ReadPage<Item> = (
  cursor: { cursor?: string },
  options: { signal: AbortSignal },
) => Promise<Page<Item>>

/** A list of the API, page by page. `poll_ms`: read again that often, and for each page that is open that much more seldom. */
export function usePages<Item>(
  queryKey: readonly unknown[],
  read: ReadPage<Item>,
  { poll_ms, enabled = true }: { poll_ms?: number; enabled?: boolean } = {},
) {
  const list = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam, signal }) => read(pageParam ? { cursor: pageParam } : {}, { signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ page_info }) => page_info.next_cursor,
    refetchInterval: ({ state }) => (poll_ms ? poll_ms * (state.data?.pages.length || 1) : false),
    enabled,
  })
  return { ...list, items: list.data?.pages.flatMap(({ items }) => items) }
}

/** A list as rows: what went wrong, what is to be said when it is empty, and the button for more of it. */
export function PagedRows<Item>({
  pages: { items, isLoading, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage },
  label,
  empty,
  more,
  children,
}: {
  pages: ReturnType<typeof usePages<Item>>
  label: string
  empty: ReactNode
  /** What the button for the next page says. */
  more: string
  children: (item: Item) => ReactNode
}) {
  return (
    <>
      {error ? <Problem error={error} onRetry={() => refetch()} /> : null}
      {isLoading ? <SkeletonRows /> : null}
      {items?.length === 0 ? empty : null}
      {items && items.length > 0 ? <Rows label={label}>{items.map(children)}</Rows> : null}
      {hasNextPage ? (
        <div className="mt-4">
          <Button disabled={isFetchingNextPage} onClick={() => fetchNextPage()}>
            {more}
          </Button>
        </div>
      ) : null}
    </>
  )
}
