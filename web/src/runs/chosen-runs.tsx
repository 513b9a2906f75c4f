import type { RunItem } from '@runyard/client'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useAccess } from '../client.ts'
import { countOf } from '../text/format.ts'
import { Button } from '../ui/button.tsx'
import { ConfirmButton } from '../ui/confirm-button.tsx'
import { Problem } from '../ui/problem.tsx'
import { deleteRun } from './deletions.ts'
import { isOpen } from './run-table.tsx'

interface Props {
  ids: ReadonlySet<string>
  /** What the list has read. */
  runs: readonly RunItem[]
  /** Takes in all that the list has read and that are open. */
  onAll: () => void
  onDone: () => void
}

/** What can be done with the runs that were ticked. */
export function ChosenRuns({ ids, runs, onAll, onDone }: Props) {
  const { client } = useAccess()
  // One that the list does not show any more may be open.
  const known = new Map(runs.map((run) => [run.run_id, run]))
  const ended = [...ids].filter((run_id) => {
    const run = known.get(run_id)
    return run && !isOpen(run)
  })
  const open = [...ids].filter((run_id) => !ended.includes(run_id))
  // One that has ended, or is gone, meanwhile is as it was wanted.
  const cancel = useForEach((run_id) => client.runs.cancel(run_id), [400, 404, 409], onDone)
  const archive = useForEach((run_id) => client.runs.archive(run_id), [404], onDone)
  const remove = useForEach(
    (chosen) => deleteRun(chosen, (run_id) => client.runs.delete(run_id, { cancel: true })),
    [404],
    onDone,
  )
  const is_busy = cancel.isPending || archive.isPending || remove.isPending
  const error = cancel.error ?? archive.error ?? remove.error
  const [count_open, count] = [countOf(open.length, 'run'), countOf(ids.size, 'run')]
  return (
    <div className="mb-3 grid gap-2">
      <div className="flex flex-wrap items-center gap-3 rounded-lg border border-line bg-raised px-3 py-2 text-sm">
        <span role="status">{count} selected</span>
        {open.length > 0 ? (
          <ConfirmButton
            confirm={`Cancel ${count_open}`}
            question="Their processes are ended at once; what they have done so far stays."
            is_busy={is_busy}
            onConfirm={() => cancel.mutate(open)}
          >
            Cancel {count_open}
          </ConfirmButton>
        ) : null}
        {ended.length > 0 ? (
          <Button disabled={is_busy} onClick={() => archive.mutate(ended)}>
            Archive {countOf(ended.length, 'run')}
          </Button>
        ) : null}
        <ConfirmButton
          confirm={`Delete ${count}`}
          question={`${open.length > 0 ? `${count_open} that ${open.length === 1 ? 'has' : 'have'} not ended ${open.length === 1 ? 'is' : 'are'} cancelled first. ` : ''}Logs, files and share links go for good, and so do the runs below.`}
          is_busy={is_busy}
          onConfirm={() => remove.mutate([...ids])}
        >
          {remove.isPending ? 'Deleting…' : `Delete ${count}`}
        </ConfirmButton>
        <button type="button" className="text-soft underline" onClick={onAll}>
          Select all open runs shown
        </button>
        <button type="button" className="text-soft underline" onClick={onDone}>
          Clear the selection
        </button>
      </div>
      {error ? <Problem error={error} /> : null}
    </div>
  )
}

/** Does something to each of several runs; `expected` are the statuses of answers that leave them as is wanted. */
function useForEach(
  act: (run_id: string) => PromiseLike<unknown>,
  expected: readonly number[],
  onDone: () => void,
) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async (run_ids: readonly string[]) => {
      const answers = await Promise.allSettled(run_ids.map(act))
      const failure = answers.find(
        (answer) => answer.status === 'rejected' && !expected.includes(answer.reason?.status),
      )
      if (failure?.status === 'rejected') throw failure.reason
    },
    onSuccess: onDone,
    onSettled: () =>
      Promise.all(
        ['list', 'attention'].map((name) => queries.invalidateQueries({ queryKey: ['runs', name] })),
      ),
  })
}
