import type { RunItem } from '@runyard/client'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useMemo, useState } from 'react'
import { useAccess } from '../client.ts'
import { Problem } from '../ui/problem.tsx'
import { SkeletonRows } from '../ui/skeleton.tsx'
import { SHOWN, useAttention, useFreshPulls } from './attention.ts'
import { ChosenRuns } from './chosen-runs.tsx'
import { FirstRun } from './first-run.tsx'
import { OwnerChoice } from './owner-choice.tsx'
import { taskOf } from './row-facts.ts'
import { RunFilters } from './run-filters.tsx'
import { useRunList } from './run-list.ts'
import { Headings } from './run-row.tsx'
import { type RunSearch, readRunSearch } from './run-search.ts'
import { isOpen, ROW_LOOK, RunTable } from './run-table.tsx'
import { SavedFilterBar } from './saved-filter-bar.tsx'

/** All runs that one may see, the newest first; above them those that somebody has to act on. */
export function RunsPage() {
  const search = useSearch({ from: '/', select: readRunSearch })
  const navigate = useNavigate({ from: '/' })
  const { may_write } = useAccess()
  const {
    runs: listed,
    error,
    isPending,
    isPlaceholderData,
    hasNextPage,
    isFetchingNextPage,
    fetchNextPage,
    refetch,
  } = useRunList(search)
  const attention = useAttention(search)
  const runs = useMemo(() => {
    const first = attention.slice(0, SHOWN)
    const known = new Set(first.map(({ run_id }) => run_id))
    // A run that was answered meanwhile is in the list until that is read again.
    const isWanted = (run: RunItem) => search.state !== 'attention' || taskOf(run) !== undefined
    return [...first, ...listed.filter((run) => !known.has(run.run_id) && isWanted(run))]
  }, [attention, listed, search.state])
  useFreshPulls(runs)
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const has_search = Object.keys(search).length > 0
  useEffect(() => {
    document.title = 'Runs · Runyard'
  }, [])
  return (
    <>
      <div className="flex items-center justify-between gap-4 pt-6 pb-4">
        <h1 className="m-0 font-semibold text-xl">Runs</h1>
        <OwnerChoice search={search} />
      </div>
      <RunFilters
        search={search}
        onChange={(next, is_typed) => navigate({ search: next, replace: is_typed })}
      />
      <SavedFilterBar search={search} />
      {chosen.size > 0 ? (
        <ChosenRuns
          ids={chosen}
          runs={runs}
          onAll={() => setChosen(new Set(runs.filter(isOpen).map(({ run_id }) => run_id)))}
          onDone={() => setChosen(new Set())}
        />
      ) : null}
      {error ? <Problem error={error} onRetry={() => refetch()} /> : null}
      {isPending && !error ? (
        <>
          <Headings is_shifted={may_write} />
          <SkeletonRows rows={10} look={ROW_LOOK} />
        </>
      ) : null}
      {runs.length > 0 ? (
        <RunTable
          runs={runs}
          groups={attention.length > 0 ? groupsOf(attention.length, search) : {}}
          chosen={chosen}
          onChoose={setChosen}
          isOutdated={isPlaceholderData}
          hasMore={hasNextPage}
          isReading={isFetchingNextPage}
          onMore={fetchNextPage}
        />
      ) : null}
      {!isPending && !isPlaceholderData && !error && runs.length === 0 ? (
        has_search ? (
          <p className="py-8 text-soft">
            No run matches these filters.{' '}
            <button type="button" className="text-accent underline" onClick={() => navigate({ search: {} })}>
              Show all runs
            </button>
          </p>
        ) : (
          <FirstRun />
        )
      ) : null}
    </>
  )
}

/** The names of the groups, by the row that each begins with. */
const groupsOf = (count: number, search: RunSearch) => ({
  0: (
    <>
      <h2 className="m-0 font-semibold text-sm text-wait">Needs you</h2>
      <span className="tabular text-soft">{count}</span>
      {count > SHOWN ? (
        <Link to="/" search={{ ...search, state: 'attention' }}>
          Show all
        </Link>
      ) : null}
    </>
  ),
  [Math.min(count, SHOWN)]: <h2 className="m-0 font-semibold text-sm text-soft">Other runs</h2>,
})
