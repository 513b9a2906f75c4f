import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useAccess } from '../client.ts'
import { useSettled } from '../ui/use-settled.ts'
import { TimesIn } from './next-times.tsx'

/** When an expression as it is typed would be due; while it is none, saving it says why. */
export function TypedTimes({ cron, zone }: { cron: string; zone: string }) {
  const { client } = useAccess()
  const [cron_schedule, time_zone] = [useSettled(cron.trim()), useSettled(zone.trim())]
  const { data, isError } = useQuery({
    queryKey: ['schedules', 'times', cron_schedule, time_zone],
    queryFn: ({ signal }) => client.schedules.times({ cron_schedule, time_zone }, { signal }),
    enabled: cron_schedule !== '' && time_zone !== '',
    placeholderData: keepPreviousData,
    retry: false,
  })
  if (cron_schedule === '' || isError || !data) return null
  return (
    <p role="status" className="m-0 text-sm text-soft">
      Would run <TimesIn times={data.next_runs} time_zone={time_zone} />
    </p>
  )
}
