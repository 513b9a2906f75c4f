import type { ScheduledAgentItem } from '@runyard/client'
import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { useAccess } from '../client.ts'
import { plainText } from '../text/plain-text.ts'
import { Found } from '../ui/found.tsx'
import { Ago } from '../ui/moment.tsx'
import { PageHead, Rows } from '../ui/page-head.tsx'
import { PauseButton, usePause } from '../ui/pause.tsx'
import { Problem } from '../ui/problem.tsx'
import { RemoveButton, useRemoval } from '../ui/removal.tsx'
import { StateBadge } from '../ui/state-badge.tsx'
import { NextTimes } from './next-times.tsx'
import { RanNow, RunNowButton, useRunNow } from './run-now.tsx'
import { ScheduleEditor } from './schedule-editor.tsx'

export function NewSchedulePage() {
  return (
    <>
      <PageHead title="New schedule" />
      <ScheduleEditor schedule={undefined} />
    </>
  )
}

export function SchedulePage() {
  const { schedule_id } = useParams({ from: '/schedules/$schedule_id' })
  const { client } = useAccess()
  const query = useQuery({
    queryKey: ['schedules', schedule_id],
    queryFn: ({ signal }) => client.schedules.retrieve(schedule_id, { signal }),
  })
  return (
    <Found kind="schedule" query={query}>
      {(schedule) => <OpenSchedule schedule={schedule} />}
    </Found>
  )
}

function OpenSchedule({ schedule }: { schedule: ScheduledAgentItem }) {
  const { client, may_write } = useAccess()
  const { id, name, enabled, next_runs, last_spawn_error } = schedule
  const turn = usePause('schedule', enabled, {
    pause: () => client.schedules.pause(id),
    resume: () => client.schedules.resume(id),
  })
  const run = useRunNow(schedule)
  const removal = useRemoval('schedule', () => client.schedules.delete(id))
  const problem = turn.error ?? removal.error
  return (
    <>
      <PageHead title={plainText(name)}>
        {may_write ? (
          <>
            <RunNowButton run={run} />
            <PauseButton enabled={enabled} turn={turn} />
            <RemoveButton
              kind="schedule"
              consequence="It is never due again. The runs that it started stay."
              removal={removal}
            />
          </>
        ) : null}
      </PageHead>
      {problem ? <Problem error={problem} /> : null}
      <div className="mb-4 empty:hidden">
        <RanNow run={run} />
      </div>
      {last_spawn_error ? (
        <p role="alert" className="mt-0 text-bad text-sm">
          It could not start its last run: {plainText(last_spawn_error)}
        </p>
      ) : null}
      {(schedule.warnings ?? []).map((warning) => (
        <p key={warning} className="mt-0 mb-4 text-sm text-wait">
          {plainText(warning)}
        </p>
      ))}
      <div className="grid gap-x-10 gap-y-8 lg:grid-cols-[minmax(0,1fr)_22rem]">
        <ScheduleEditor key={id} schedule={schedule} />
        <div className="grid content-start gap-8">
          <section aria-labelledby="next">
            <h2 id="next" className="m-0 mb-2 font-semibold text-base">
              Next times
            </h2>
            <div className="flex">
              {enabled ? (
                <NextTimes times={next_runs} time_zone={schedule.time_zone} />
              ) : (
                <p className="m-0 text-sm text-wait">Paused</p>
              )}
            </div>
          </section>
          <Firings schedule_id={id} />
        </div>
      </div>
    </>
  )
}

/** What became of its times, the newest first. */
function Firings({ schedule_id }: { schedule_id: string }) {
  const { client } = useAccess()
  const { data, error } = useQuery({
    queryKey: ['schedules', schedule_id, 'firings'],
    queryFn: async ({ signal }) => {
      const [{ firings }, { runs }] = await Promise.all([
        client.schedules.firings(schedule_id, { limit: 50 }, { signal }),
        client.runs.list({ schedule_id, limit: 50, sort_by: 'created_at' }, { signal }),
      ])
      const states = new Map(runs.map(({ run_id, state }) => [run_id, state]))
      return firings.map((firing) => ({ ...firing, state: firing.run_id && states.get(firing.run_id) }))
    },
    refetchInterval: 10_000,
  })
  return (
    <section aria-labelledby="history">
      <h2 id="history" className="m-0 mb-2 font-semibold text-base">
        History
      </h2>
      {error ? <Problem error={error} /> : null}
      {data?.length === 0 ? <p className="m-0 text-sm text-soft">It was not due yet.</p> : null}
      {data && data.length > 0 ? (
        <Rows label="History">
          {data.map(({ due_at, outcome, run_id, state, reason, asked_by }) => (
            <li key={due_at} className="py-2 text-sm">
              <span className="flex justify-between gap-4">
                {run_id ? (
                  <Link to="/sessions/$run_id" params={{ run_id }}>
                    {state ? <StateBadge state={state} /> : 'Run'}
                  </Link>
                ) : (
                  <span>{outcome === 'skipped' ? 'Skipped' : 'Could not start'}</span>
                )}
                <span className="text-soft">
                  <Ago at={due_at} />
                </span>
              </span>
              {asked_by ? (
                <span className="block text-soft">
                  Asked for by {plainText(asked_by.display_name ?? asked_by.uid)}
                </span>
              ) : null}
              {reason ? <span className="text-soft">{plainText(reason)}</span> : null}
            </li>
          ))}
        </Rows>
      ) : null}
    </section>
  )
}
