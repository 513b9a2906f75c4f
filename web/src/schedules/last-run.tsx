import type { ScheduledAgentItem } from '@runyard/client'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useAccess } from '../client.ts'
import { Ago } from '../ui/moment.tsx'
import { StateBadge } from '../ui/state-badge.tsx'

export const POLL_MS = 10_000
/** Newest runs of all schedules, which are asked for at once; for a schedule that is none of these its own is. */
const RECENT = 200

/** How the newest run of a schedule stands, as a link to it. */
export function LastRun({ schedule: { id, history } }: { schedule: ScheduledAgentItem }) {
  const { client } = useAccess()
  const { data: recent } = useQuery({
    queryKey: ['schedules', 'recent-runs'],
    queryFn: async ({ signal }) => {
      const newest = { source: ['SCHEDULED_AGENT'], sort_by: 'created_at', limit: RECENT } as const
      return (await client.runs.list(newest, { signal })).runs
    },
    refetchInterval: POLL_MS,
  })
  const known = recent?.find(({ schedule }) => schedule?.schedule_id === id)
  const { data: older } = useQuery({
    queryKey: ['schedules', id, 'last-run'],
    queryFn: async ({ signal }) => {
      const newest = { schedule_id: id, sort_by: 'created_at', limit: 1 } as const
      return (await client.runs.list(newest, { signal })).runs[0] ?? null
    },
    enabled: recent !== undefined && !known && history.last_ran !== null,
  })
  const run = known ?? older
  if (!history.last_ran) return <span className="text-sm text-soft">No run yet</span>
  if (!run) return <span />
  return (
    <Link
      to="/sessions/$run_id"
      params={{ run_id: run.run_id }}
      className="flex w-fit flex-wrap items-center gap-x-3 text-sm text-soft no-underline hover:underline"
    >
      <StateBadge state={run.state} />
      <Ago at={run.created_at} />
    </Link>
  )
}
