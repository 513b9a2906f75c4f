import type { Usage } from '@runyard/client'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useAccess } from '../client.ts'
import { countOf, formatCount, formatDuration } from '../text/format.ts'
import { plainText } from '../text/plain-text.ts'
import { FIELD_CLASS } from '../ui/field.tsx'
import { Fold } from '../ui/fold.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { Problem } from '../ui/problem.tsx'
import { ScrollBox } from '../ui/scroll-box.tsx'
import { DayPlot } from './day-plot.tsx'
import { CostPlot, RatePlot, sayCost, TimePlot } from './small-plots.tsx'
import { readRange } from './usage-search.ts'

const DAY_MS = 86_400_000
export const RANGES = [7, 30, 90, 365] as const

/** How many runs there were, what came of them, how long they took and what they cost. */
export function UsagePage() {
  const { client } = useAccess()
  const { days = 30 } = useSearch({ from: '/usage', select: readRange })
  const navigate = useNavigate({ from: '/usage' })
  const { data, error, isPending, refetch } = useQuery({
    queryKey: ['usage', days],
    queryFn: ({ signal }) =>
      client.usage.get(
        {
          from: new Date(Date.now() - days * DAY_MS).toISOString(),
          time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
        },
        { signal },
      ),
    staleTime: 60_000,
  })
  return (
    <>
      <PageHead title="Usage">
        <select
          aria-label="Time"
          className={`${FIELD_CLASS} min-h-9 w-auto text-sm`}
          value={days}
          onChange={(event) => navigate({ search: { days: Number(event.target.value) } })}
        >
          {RANGES.map((range) => (
            <option key={range} value={range}>
              Last {range} days
            </option>
          ))}
        </select>
      </PageHead>
      {error ? <Problem error={error} onRetry={() => refetch()} /> : null}
      {isPending ? <p className="text-soft">Counting…</p> : null}
      {data && data.totals.runs === 0 ? (
        <p className="text-soft">
          No run in this time. <Link to="/new">Start one</Link>, or choose a longer time.
        </p>
      ) : null}
      {data && data.totals.runs > 0 ? <Report usage={data} /> : null}
    </>
  )
}

const seconds = (value: number | null): string => (value === null ? '–' : formatDuration(value * 1000))

/** Of those that ended by themselves. */
function shareOf({
  succeeded,
  failed,
  errors,
}: {
  succeeded: number
  failed: number
  errors: number
}): string {
  const ended = succeeded + failed + errors
  return ended === 0 ? '–' : `${Math.round((100 * succeeded) / ended)} %`
}

function Report({ usage: { totals, days, by_agent, by_model, by_environment } }: { usage: Usage }) {
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-8">
      <dl className="m-0 grid grid-cols-2 gap-4 sm:grid-cols-3 lg:grid-cols-6">
        <Figure name="Runs">{formatCount(totals.runs)}</Figure>
        <Figure name="Succeeded">{shareOf(totals)}</Figure>
        <Figure name="Median time">{seconds(totals.run_seconds_p50)}</Figure>
        <Figure name="95th percentile">{seconds(totals.run_seconds_p95)}</Figure>
        <Figure name="Tokens">{formatCount(totals.total_tokens)}</Figure>
        <Figure name="Cost, where known">{sayCost(totals.cost_usd)}</Figure>
      </dl>
      <section aria-labelledby="days">
        <h2 id="days" className="m-0 mb-3 font-semibold text-base">
          Runs per day
        </h2>
        <DayPlot days={days} label={`${countOf(totals.runs, 'run')} in ${countOf(days.length, 'day')}`} />
      </section>
      <div className="grid grid-cols-[minmax(0,1fr)] gap-8 lg:grid-cols-[repeat(2,minmax(0,1fr))]">
        <RatePlot days={days} />
        <TimePlot rows={by_agent.map((row) => ({ ...row, name: row.agent }))} />
        <CostPlot title="Cost by agent" rows={by_agent.map((row) => ({ ...row, name: row.agent }))} />
        <CostPlot
          title="Cost by model"
          rows={by_model.map((row) => ({ ...row, name: row.model_id ?? 'no model' }))}
        />
      </div>
      <Table title="Agents" rows={by_agent.map((row) => ({ name: row.agent, ...row }))} />
      <Table title="Models" rows={by_model.map((row) => ({ name: row.model_id ?? 'no model', ...row }))} />
      <Table
        title="Environments"
        rows={by_environment.map((row) => ({ ...row, name: row.name ?? row.environment_id ?? 'none' }))}
      />
      <Fold summary="The days as a table">
        <DayTable days={days} />
      </Fold>
    </div>
  )
}

function Figure({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="rounded-xl border border-line bg-raised px-4 py-3">
      <dt className="text-soft text-xs">{name}</dt>
      <dd className="tabular m-0 font-semibold text-lg">{children}</dd>
    </div>
  )
}

const CELL = 'whitespace-nowrap px-3 py-1.5 text-right first:pl-0 first:text-left'

function Table({ title, rows }: { title: string; rows: readonly (Usage['totals'] & { name: string })[] }) {
  if (rows.length === 0) return null
  return (
    <section>
      <h2 className="m-0 mb-2 font-semibold text-base">{title}</h2>
      <ScrollBox label={title} className="overflow-x-auto">
        <table className="tabular w-full border-collapse text-sm">
          <thead>
            <tr className="border-line border-b text-soft">
              {['', 'Runs', 'Succeeded', 'Median time', '95th percentile', 'Tokens', 'Cost'].map((name) => (
                <th key={name} scope="col" className={`${CELL} font-normal`}>
                  {name || <span className="unseen">Name</span>}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={row.name} className="border-line border-b">
                <th scope="row" className={`${CELL} max-w-56 truncate font-medium`}>
                  {plainText(row.name)}
                </th>
                <td className={CELL}>{formatCount(row.runs)}</td>
                <td className={CELL}>{shareOf(row)}</td>
                <td className={CELL}>{seconds(row.run_seconds_p50)}</td>
                <td className={CELL}>{seconds(row.run_seconds_p95)}</td>
                <td className={CELL}>{formatCount(row.total_tokens)}</td>
                <td className={CELL}>{sayCost(row.cost_usd)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollBox>
    </section>
  )
}

function DayTable({ days }: { days: Usage['days'] }) {
  return (
    <ScrollBox label="The days as a table" className="mt-2 overflow-x-auto">
      <table className="tabular border-collapse text-sm">
        <thead>
          <tr className="border-line border-b text-soft">
            {['Day', 'Runs', 'Succeeded', 'Failed', 'Errors', 'Cancelled', 'Tokens', 'Cost'].map((name) => (
              <th key={name} scope="col" className={`${CELL} font-normal`}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {days.map((day) => (
            <tr key={day.date}>
              <th scope="row" className={`${CELL} font-normal`}>
                {day.date}
              </th>
              {[day.runs, day.succeeded, day.failed, day.errors, day.cancelled, day.total_tokens].map(
                (count, index) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: columns stay where they are.
                  <td key={index} className={CELL}>
                    {formatCount(count)}
                  </td>
                ),
              )}
              <td className={CELL}>{sayCost(day.cost_usd)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollBox>
  )
}
