import { BadRequestError } from '@runyard/client'
import { useQuery } from '@tanstack/react-query'
import { useAccess } from '../client.ts'
import { Problem } from '../ui/problem.tsx'
import { useSettled } from '../ui/use-settled.ts'
import { TimesIn } from './next-times.tsx'

/** When a changed expression would be due, as it is typed; while it is none, saving it says why. */
export function TypedTimes({
  cron,
  zone,
  is_changed,
}: {
  cron: string
  zone: string
  /** Its times are not those that the schedule has. */
  is_changed: boolean
}) {
  const { client } = useAccess()
  const typed = { cron_schedule: cron.trim(), time_zone: zone.trim() }
  const settled = { cron_schedule: useSettled(typed.cron_schedule), time_zone: useSettled(typed.time_zone) }
  const is_asked = is_changed && typed.cron_schedule !== '' && typed.time_zone !== ''
  const is_settled = typed.cron_schedule === settled.cron_schedule && typed.time_zone === settled.time_zone
  const { data, error, refetch } = useQuery({
    queryKey: ['schedules', 'times', settled],
    queryFn: ({ signal }) => client.schedules.times(settled, { signal }),
    enabled: is_asked && is_settled,
  })
  if (!is_asked || (is_settled && error instanceof BadRequestError)) return null
  if (is_settled && error) return <Problem error={error} onRetry={() => refetch()} />
  return (
    <p role="status" className="m-0 text-sm text-soft">
      {is_settled && data ? (
        <>
          Would run <TimesIn times={data.next_runs} time_zone={settled.time_zone} />
        </>
      ) : (
        'Loading…'
      )}
    </p>
  )
}
