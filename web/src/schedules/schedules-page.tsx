import type { ScheduledAgentItem } from '@runyard/client'
import { Link } from '@tanstack/react-router'
import { useAccess } from '../client.ts'
import { plainText } from '../text/plain-text.ts'
import { ListPage } from '../ui/list-page.tsx'
import { usePages } from '../ui/paged-rows.tsx'
import { LastRun, POLL_MS } from './last-run.tsx'
import { NextTime } from './next-times.tsx'
import { RanNow, RunNowButton, useRunNow } from './run-now.tsx'

/** Runs at set times. */
export function SchedulesPage() {
  const { client } = useAccess()
  const pages = usePages<ScheduledAgentItem>(
    ['schedules', 'list'],
    async (cursor, options) => {
      const { schedules, page_info } = await client.schedules.list({ limit: 100, ...cursor }, options)
      return { items: schedules, page_info }
    },
    { poll_ms: POLL_MS },
  )
  return (
    <ListPage
      kind="schedule"
      pages={pages}
      about="One starts a run at each of its times, and never two."
      sample={"runyard schedule create nightly --cron '0 3 * * *' 'Update the dependencies.'"}
    >
      {(schedule) => <ScheduleRow key={schedule.id} schedule={schedule} />}
    </ListPage>
  )
}

function ScheduleRow({ schedule }: { schedule: ScheduledAgentItem }) {
  const { may_write } = useAccess()
  const run = useRunNow(schedule)
  const { id, name, cron_schedule, time_zone, enabled, next_runs, scope, last_spawn_error } = schedule
  return (
    <li className="grid items-center gap-x-6 gap-y-1 py-3 sm:grid-cols-[minmax(0,1fr)_11rem_12rem_auto]">
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
      {may_write ? <RunNowButton run={run} name={plainText(name)} /> : <span />}
      <div className="empty:hidden sm:col-span-full">
        <RanNow run={run} />
      </div>
    </li>
  )
}
