import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { useAccess } from '../client.ts'
import { countOf } from '../text/format.ts'
import { ConfirmButton } from '../ui/confirm-button.tsx'
import { Problem } from '../ui/problem.tsx'
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
        <Chosen
          ids={chosen}
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

/** What can be done with the runs that were ticked. */
interface ChosenProps {
  ids: ReadonlySet<string>
  /** Takes in all that the list has read and that are open. */
  onAll: () => void
  onDone: () => void
}

function Chosen({ ids, onAll, onDone }: ChosenProps) {
  const { client } = useAccess()
  const queries = useQueryClient()
  const cancel = useMutation({
    mutationFn: async () => {
      const answers = await Promise.allSettled([...ids].map((run_id) => client.runs.cancel(run_id)))
      // One that has ended meanwhile is as it was wanted.
      const failure = answers.find(
        (answer) =>
          answer.status === 'rejected' && !(answer.reason?.status === 400 || answer.reason?.status === 409),
      )
      if (failure?.status === 'rejected') throw failure.reason
    },
    onSuccess: onDone,
    onSettled: () => queries.invalidateQueries({ queryKey: ['runs', 'list'] }),
  })
  return (
    <div className="mb-3 grid gap-2">
      <div className="flex flex-wrap items-center gap-3 rounded-lg border border-line bg-raised px-3 py-2 text-sm">
        <span role="status">{countOf(ids.size, 'run')} selected</span>
        <ConfirmButton
          confirm={`Cancel ${countOf(ids.size, 'run')}`}
          question="Their processes are ended at once; what they have done so far stays."
          is_busy={cancel.isPending}
          onConfirm={() => cancel.mutate()}
        >
          Cancel {countOf(ids.size, 'run')}
        </ConfirmButton>
        <button type="button" className="text-soft underline" onClick={onAll}>
          Select all open runs shown
        </button>
        <button type="button" className="text-soft underline" onClick={onDone}>
          Clear the selection
        </button>
      </div>
      {cancel.error ? <Problem error={cancel.error} /> : null}
    </div>
  )
}
