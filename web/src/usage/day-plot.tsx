import type { Usage } from '@runyard/client'
import { Bar, BarChart, CartesianGrid, Legend, ResponsiveContainer, Tooltip, XAxis, YAxis } from 'recharts'

/** How plots look that say more under the pointer. */
export const TOOLTIP = {
  cursor: { fill: 'var(--line)', opacity: 0.4 },
  contentStyle: {
    background: 'var(--raised)',
    border: '1px solid var(--line)',
    borderRadius: 10,
    fontSize: 13,
  },
}
export const LEGEND = { iconType: 'circle', iconSize: 8, wrapperStyle: { fontSize: 13 } } as const

const STACK = [
  { key: 'succeeded', name: 'Succeeded', fill: 'var(--good)' },
  { key: 'failed', name: 'Failed', fill: 'var(--bad)' },
  { key: 'errors', name: 'Errors', fill: 'var(--wait)' },
  { key: 'cancelled', name: 'Cancelled', fill: 'var(--soft)' },
  { key: 'others', name: 'Open', fill: 'var(--accent)' },
] as const

/** What came of the runs of each day, as stacked bars. The table below it says the same. */
export function DayPlot({ days, label }: { days: Usage['days']; label: string }) {
  const data = days.map((day) => ({
    ...day,
    others: day.runs - day.succeeded - day.failed - day.errors - day.cancelled,
  }))
  return (
    <figure className="m-0 h-64" role="img" aria-label={label}>
      <ResponsiveContainer width="100%" height="100%">
        <BarChart data={data} margin={{ top: 8, right: 4, bottom: 0, left: -16 }} accessibilityLayer={false}>
          <CartesianGrid vertical={false} stroke="var(--line)" />
          <XAxis
            dataKey="date"
            tickFormatter={shortDate}
            tickLine={false}
            stroke="var(--soft)"
            fontSize={12}
            minTickGap={24}
          />
          <YAxis allowDecimals={false} tickLine={false} axisLine={false} stroke="var(--soft)" fontSize={12} />
          <Tooltip {...TOOLTIP} />
          {/* In the order of the stack, not of the alphabet. */}
          <Legend {...LEGEND} itemSorter={({ dataKey }) => STACK.findIndex(({ key }) => key === dataKey)} />
          {STACK.map(({ key, name, fill }) => (
            <Bar
              key={key}
              dataKey={key}
              name={name}
              stackId="runs"
              fill={fill}
              isAnimationActive={false}
              maxBarSize={28}
            />
          ))}
        </BarChart>
      </ResponsiveContainer>
    </figure>
  )
}

/** `2026-03-09` as a reader writes it. */
export const shortDate = (date: string): string => {
  const [year = 0, month = 1, day = 1] = date.split('-').map(Number)
  return new Date(year, month - 1, day).toLocaleDateString([], { month: 'short', day: 'numeric' })
}
