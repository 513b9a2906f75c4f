import { useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { Problem } from '../ui/problem.tsx'
import { ChosenRuns } from './chosen-runs.tsx'
import { FirstRun } from './first-run.tsx'
import { RunFilters } from './run-filters.tsx'
import { useRunList } from './run-list.ts'
import { readRunSearch } from './run-search.ts'
import { isOpen, RunTable } from './run-table.tsx'

/** All runs that one may see, the newest first. */
export function RunsPage() {
  const search = useSearch({ from: '/', select: readRunSearch })
  const navigate = useNavigate({ from: '/' })
  const {
    runs,
    error,
    isPending,
    isPlaceholderData,
    hasNextPage,
    isFetchingNextPage,
    fetchNextPage,
    refetch,
  } = useRunList(search)
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const has_search = Object.keys(search).length > 0
  useEffect(() => {
    document.title = 'Runs · Runyard'
  }, [])
  return (
    <>
      <h1 className="m-0 pt-6 pb-4 font-semibold text-xl">Runs</h1>
      <RunFilters
        search={search}
        onChange={(next, is_typed) => navigate({ search: next, replace: is_typed })}
      />
      {chosen.size > 0 ? (
        <ChosenRuns
          ids={chosen}
          runs={runs}
          onAll={() => setChosen(new Set(runs.filter(isOpen).map(({ run_id }) => run_id)))}
          onDone={() => setChosen(new Set())}
        />
      ) : null}
      {error ? <Problem error={error} onRetry={() => refetch()} /> : null}
      {isPending && !error ? <p className="py-8 text-soft">Reading the runs…</p> : null}
      {runs.length > 0 ? (
        <RunTable
          runs={runs}
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
