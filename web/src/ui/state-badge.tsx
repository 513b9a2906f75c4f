import type { RunState, WaitsFor } from '@runyard/client'

interface Look {
  label: string
  tone: string
  is_moving?: boolean
}

const LOOKS: Record<RunState, Look> = {
  QUEUED: { label: 'Queued', tone: 'text-soft' },
  PENDING: { label: 'Pending', tone: 'text-soft' },
  CLAIMED: { label: 'Preparing', tone: 'text-accent', is_moving: true },
  INPROGRESS: { label: 'Running', tone: 'text-accent', is_moving: true },
  SUCCEEDED: { label: 'Succeeded', tone: 'text-good' },
  FAILED: { label: 'Failed', tone: 'text-bad' },
  ERROR: { label: 'Error', tone: 'text-bad' },
  BLOCKED: { label: 'Waiting for you', tone: 'text-wait' },
  CANCELLED: { label: 'Cancelled', tone: 'text-soft' },
}

export const lookOf = (state: RunState): Look => LOOKS[state] ?? { label: state, tone: 'text-soft' }

/** The state of a run: a dot and a word. */
export function StateBadge({ state, waits_for }: { state: RunState; waits_for?: WaitsFor | undefined }) {
  const { label, tone, is_moving } = lookOf(state)
  const nothing_asked = state === 'BLOCKED' && waits_for === 'message'
  return (
    <span
      className={`inline-flex items-center gap-2 text-sm font-semibold whitespace-nowrap ${tone}`}
      data-state={state}
    >
      <span aria-hidden className={`size-2 shrink-0 rounded-full bg-current ${is_moving ? 'breathe' : ''}`} />
      {nothing_asked ? 'Interrupted' : label}
    </span>
  )
}
