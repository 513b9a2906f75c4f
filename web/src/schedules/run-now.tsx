import type { ScheduledAgentItem } from '@runyard/client'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useAccess } from '../client.ts'
import { plainText } from '../text/plain-text.ts'
import { Button } from '../ui/button.tsx'
import { Problem } from '../ui/problem.tsx'

/** Has a schedule run at once. */
export function useRunNow({ id }: Pick<ScheduledAgentItem, 'id'>) {
  const { client } = useAccess()
  const queries = useQueryClient()
  return useMutation({
    mutationFn: () => client.schedules.run(id),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['schedules'] }),
  })
}

type RunNow = ReturnType<typeof useRunNow>

export function RunNowButton({ run, name }: { run: RunNow; name?: string }) {
  return (
    <Button
      disabled={run.isPending}
      onClick={() => run.mutate()}
      {...(name === undefined ? {} : { 'aria-label': `Run now: ${name}` })}
    >
      Run now
    </Button>
  )
}

/** What came of it: a link to the run, or why there is none. */
export function RanNow({ run: { data, error } }: { run: RunNow }) {
  if (error) return <Problem error={error} />
  if (!data) return null
  return (
    <p role="status" className="m-0 text-sm text-soft">
      {data.run_id ? (
        <>
          Started.{' '}
          <Link to="/sessions/$run_id" params={{ run_id: data.run_id }}>
            Open the run
          </Link>
        </>
      ) : (
        `No run was started. ${plainText(data.reason ?? '')}`
      )}
    </p>
  )
}
