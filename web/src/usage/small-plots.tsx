import type { Usage } from '@runyard/client'
import type { ReactElement } from 'react'
import {
  Bar,
  BarChart,
  CartesianGrid,
  Legend,
  Line,
  LineChart,
  ResponsiveContainer,
  Tooltip,
  XAxis,
  YAxis,
} from 'recharts'
import { formatCost, formatDuration } from '../text/format.ts'
import { plainText } from '../text/plain-text.ts'
import { LEGEND, shortDate, TOOLTIP } from './day-plot.tsx'

type Row = Usage['totals'] & { name: string }

/** More than these are read in the tables. */
const MOST_ROWS = 6
/** Of the names at the side, which are cut to as many letters as fit. */
const NAMES_PX = 136
const AXIS = { tickLine: false, stroke: 'var(--soft)', fontSize: 12 } as const
const MARGIN = { top: 8, right: 12, bottom: 0, left: 0 }

export const sayCost = (dollars: number): string => (dollars === 0 ? '$0' : formatCost(dollars))
const saySeconds = (seconds: number): string => formatDuration(seconds * 1000)
/** On an axis short times are all in one unit, and as exact as its steps. */
const sayStep = (seconds: number): string =>
  seconds < 10 ? `${Number(seconds.toFixed(2))} s` : saySeconds(seconds)

/** How many of the runs that ended by themselves succeeded, day by day. A day without any is a gap. */
export function RatePlot({ days }: { days: Usage['days'] }) {
  const data = days.map(({ date, succeeded, failed, errors }) => {
    const ended = succeeded + failed + errors
    return { date, rate: ended === 0 ? null : Math.round((100 * succeeded) / ended) }
  })
  return (
    <Plot title="Succeeded per day">
      <LineChart data={data} margin={MARGIN} accessibilityLayer={false}>
        <CartesianGrid vertical={false} stroke="var(--line)" />
        <XAxis
          dataKey="date"
          tickFormatter={shortDate}
          interval="equidistantPreserveStart"
          minTickGap={24}
          {...AXIS}
        />
        <YAxis
          domain={[0, 100]}
          width={52}
          tickFormatter={(rate) => `${rate}\u00a0%`}
          axisLine={false}
          {...AXIS}
        />
        <Tooltip {...TOOLTIP} formatter={(rate) => `${rate} %`} />
        <Line
          dataKey="rate"
          name="Succeeded"
          stroke="var(--good)"
          strokeWidth={2}
          dot={{ r: 2.5, fill: 'var(--good)' }}
          connectNulls
          isAnimationActive={false}
        />
      </LineChart>
    </Plot>
  )
}

/** How long the runs of each agent took. */
export function TimePlot({ rows }: { rows: readonly Row[] }) {
  const data = rows.filter(({ run_seconds_p50 }) => run_seconds_p50 !== null).slice(0, MOST_ROWS)
  if (data.length === 0) return null
  return (
    <Plot title="Time by agent">
      <BarChart data={named(data)} layout="vertical" margin={MARGIN} accessibilityLayer={false}>
        <XAxis type="number" tickFormatter={sayStep} axisLine={false} tickCount={4} {...AXIS} />
        <YAxis type="category" dataKey="name" width={NAMES_PX} {...AXIS} />
        <Tooltip {...TOOLTIP} formatter={(seconds) => saySeconds(Number(seconds))} />
        <Legend {...LEGEND} itemSorter={null} />
        <Bar dataKey="run_seconds_p50" name="Median time" fill="var(--accent)" {...BAR} />
        <Bar dataKey="run_seconds_p95" name="95th percentile" fill="var(--soft)" {...BAR} />
      </BarChart>
    </Plot>
  )
}

/** Where the money went, as far as it is known. */
export function CostPlot({ title, rows }: { title: string; rows: readonly Row[] }) {
  const data = rows
    .filter(({ cost_usd }) => cost_usd > 0)
    .sort((a, b) => b.cost_usd - a.cost_usd)
    .slice(0, MOST_ROWS)
  if (data.length === 0) return null
  return (
    <Plot title={title}>
      <BarChart data={named(data)} layout="vertical" margin={MARGIN} accessibilityLayer={false}>
        <XAxis type="number" tickFormatter={sayCost} axisLine={false} tickCount={4} {...AXIS} />
        <YAxis type="category" dataKey="name" width={NAMES_PX} {...AXIS} />
        <Tooltip {...TOOLTIP} formatter={(cost) => sayCost(Number(cost))} />
        <Bar dataKey="cost_usd" name="Cost" fill="var(--accent)" {...BAR} />
      </BarChart>
    </Plot>
  )
}

const BAR = { isAnimationActive: false, maxBarSize: 14 } as const

/** Names as the narrow axis takes them; the tables have them whole. */
const named = (rows: readonly Row[]): Row[] =>
  rows.map((row) => {
    const name = plainText(row.name)
    return { ...row, name: name.length > 18 ? `${name.slice(0, 17)}…` : name }
  })

function Plot({ title, children }: { title: string; children: ReactElement }) {
  return (
    <section>
      <h2 className="m-0 mb-3 font-semibold text-base">{title}</h2>
      <figure className="m-0 h-48" role="img" aria-label={`${title}; the tables say the same`}>
        <ResponsiveContainer width="100%" height="100%">
          {children}
        </ResponsiveContainer>
      </figure>
    </section>
  )
}
