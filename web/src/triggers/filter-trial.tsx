import { BadRequestError, type Trigger } from '@runyard/client'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useAccess } from '../client.ts'
import { plainText } from '../text/plain-text.ts'
import { Ago } from '../ui/moment.tsx'
import { Rows } from '../ui/page-head.tsx'
import { Problem, sayWhy } from '../ui/problem.tsx'
import { useSettled } from '../ui/use-settled.ts'

/** What the filter as it is typed would have done with the newest deliveries; nothing while it is the one that is saved. */
export function FilterTrial({ trigger, filter }: { trigger: Trigger; filter: string }) {
  const typed = filter.trim()
  const settled = useSettled(typed)
  const saved = trigger.filter ?? ''
  if (typed === saved || settled === saved) return null
  return (
    <section aria-labelledby="trial" className="grid gap-1">
      <h3 id="trial" className="m-0 font-medium text-sm">
        With the last deliveries
      </h3>
      <Trial trigger_id={trigger.trigger_id} filter={settled} is_typing={settled !== typed} />
    </section>
  )
}

function Trial({
  trigger_id,
  filter,
  is_typing,
}: {
  trigger_id: string
  filter: string
  is_typing: boolean
}) {
  const { client } = useAccess()
  // Each is a request of some work, so only other text and "Try again" send one.
  const { data, error, isFetching, refetch } = useQuery({
    queryKey: ['triggers', trigger_id, 'try', filter],
    queryFn: ({ signal }) => client.triggers.tryFilter(trigger_id, { filter }, { signal }),
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
  })
  // Half an expression is no alarm.
  if (error instanceof BadRequestError)
    return (
      <p role="status" className="m-0 text-sm text-bad">
        {sayWhy(error)}
      </p>
    )
  if (error) return <Problem error={error} onRetry={() => refetch()} />
  if (!data) return <p className="m-0 text-sm text-soft">Loading…</p>
  if (data.deliveries.length === 0)
    return <p className="m-0 text-sm text-soft">No verified deliveries yet.</p>
  return (
    <div aria-busy={isFetching || is_typing}>
      <Rows label="With the last deliveries">
        {data.deliveries.map(({ delivery_id, received_at, event, passes, reason }) => (
          <li key={delivery_id} className="py-1.5 text-sm">
            <span className="flex flex-wrap justify-between gap-x-4">
              <span className={passes ? 'text-good' : 'text-soft'}>
                {passes === null ? 'Unknown' : passes ? 'Would run' : 'Would be left out'}
                {event ? <code className="ml-2 text-soft text-xs">{plainText(event)}</code> : null}
              </span>
              <span className="text-soft">
                <Ago at={received_at} />
              </span>
            </span>
            {reason ? <span className="text-soft wrap-anywhere">{plainText(reason)}</span> : null}
          </li>
        ))}
      </Rows>
    </div>
  )
}
