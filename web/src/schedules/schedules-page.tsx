import type { ScheduledAgentItem } from '@runyard/client'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Plus } from 'lucide-react'
import { useAccess } from '../client.ts'
import { plainText } from '../text/plain-text.ts'
import { buttonClass } from '../ui/button.tsx'
import { CopyBlock } from '../ui/copy-block.tsx'
import { PageHead, Rows } from '../ui/page-head.tsx'
import { Problem } from '../ui/problem.tsx'
import { LastRun, POLL_MS } from './last-run.tsx'
import { NextTime } from './next-times.tsx'

/** Runs at set times. */
export function SchedulesPage() {
  const { client, may_write } = useAccess()
  const { data, error, refetch } = useQuery({
    queryKey: ['schedules', 'list'],
    queryFn: async ({ signal }) => (await client.schedules.list({ limit: 100 }, { signal })).schedules,
    refetchInterval: POLL_MS,
  })
  return (
    <>
      <PageHead title="Schedules">
        {may_write ? (
          <Link to="/schedules/new" className={buttonClass()}>
            <Plus aria-hidden className="size-4" />
            New schedule
          </Link>
        ) : null}
      </PageHead>
      {error ? <Problem error={error} onRetry={() => refetch()} /> : null}
      {data?.length === 0 ? (
        <div className="max-w-xl">
          <p className="text-soft">No schedule yet. One starts a run at each of its times, and never two.</p>
          <CopyBlock text={"runyard schedule create nightly --cron '0 3 * * *' 'Update the dependencies.'"} />
        </div>
      ) : null}
      {data && data.length > 0 ? (
        <Rows label="Schedules">
          {data.map((schedule) => (
            <ScheduleRow key={schedule.id} schedule={schedule} />
          ))}
        </Rows>
      ) : null}
    </>
  )
}

function ScheduleRow({ schedule }: { schedule: ScheduledAgentItem }) {
  const { id, name, cron_schedule, time_zone, enabled, next_runs, scope, last_spawn_error } = schedule
  return (
    <li className="grid items-center gap-x-6 gap-y-1 py-3 sm:grid-cols-[minmax(0,1fr)_13rem_13rem]">
      <span className="min-w-0">
        <Link
          to="/schedules/$schedule_id"
          params={{ schedule_id: id }}
          className="font-medium text-ink no-underline hover:underline"
        >
          {plainText(name)}
        </Link>
        <span className="block text-sm text-soft">
          <code>{cron_schedule}</code> {time_zone}
          {scope.type === 'User' ? ' · only you' : ''}
        </span>
        {last_spawn_error ? (
          <span className="block text-bad text-sm">{plainText(last_spawn_error)}</span>
        ) : null}
      </span>
      <LastRun schedule={schedule} />
      {enabled ? (
        <NextTime times={next_runs} time_zone={time_zone} />
      ) : (
        <span className="text-sm text-wait sm:text-right">Paused</span>
      )}
    </li>
  )
}
