import type { RunItem } from '@runyard/client'
import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { GitFork, RotateCcw, Square, X } from 'lucide-react'
import { useEffect } from 'react'
import { useAccess } from '../client.ts'
import { formatCost, formatDuration } from '../text/format.ts'
import { plainText } from '../text/plain-text.ts'
import { Button, buttonClass } from '../ui/button.tsx'
import { useNow } from '../ui/clock.ts'
import { ConfirmButton } from '../ui/confirm-button.tsx'
import { Problem } from '../ui/problem.tsx'
import { lookOf, StateBadge } from '../ui/state-badge.tsx'
import type { SessionView } from './session-log.ts'
import { ShareButton } from './share-button.tsx'

const OPEN: readonly string[] = ['QUEUED', 'PENDING', 'CLAIMED', 'INPROGRESS', 'BLOCKED']

/** What stays in sight: the state, the time and the cost, and what can be done about it now. */
export function RunHeader({ run, view, is_lost }: { run: RunItem; view: SessionView; is_lost: boolean }) {
  const { client, may_write, is_visitor } = useAccess()
  const { run_id } = run
  const { state } = view
  const cancel = useMutation({ mutationFn: () => client.runs.cancel(run_id) })
  const interrupt = useMutation({ mutationFn: () => client.runs.interrupt(run_id) })
  const title = plainText(run.title)
  const label = lookOf(state).label
  useEffect(() => {
    document.title = `${label} · ${title}`
  }, [label, title])
  const is_open = OPEN.includes(state)
  return (
    <header className="-mx-(--edge) sticky top-0 z-10 border-line border-b bg-paper/95 px-(--edge) py-2.5 backdrop-blur-sm">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1.5">
        <StateBadge state={state} />
        <Figures view={view} />
        {is_lost ? (
          <span role="status" className="rounded-full bg-wait/15 px-2.5 text-sm text-wait">
            Reconnecting…
          </span>
        ) : null}
        {may_write ? (
          <div className="ml-auto flex flex-wrap gap-2">
            {state === 'INPROGRESS' ? (
              <Button disabled={interrupt.isPending} onClick={() => interrupt.mutate()}>
                <Square aria-hidden className="size-3.5" />
                Interrupt
              </Button>
            ) : null}
            {is_open ? (
              <ConfirmButton
                kind="danger"
                is_busy={cancel.isPending}
                question="Cancel this run? Its processes are ended at once; what it has done so far stays."
                confirm="Cancel the run"
                onConfirm={() => cancel.mutate()}
              >
                <X aria-hidden className="size-4" />
                Cancel
              </ConfirmButton>
            ) : (
              <>
                <Link to="/new" search={{ fork: run_id }} className={buttonClass()}>
                  <GitFork aria-hidden className="size-4" />
                  Fork
                </Link>
                <Link to="/new" search={{ replay: run_id }} className={buttonClass()}>
                  <RotateCcw aria-hidden className="size-4" />
                  Retry
                </Link>
              </>
            )}
            {is_visitor ? null : <ShareButton run_id={run_id} />}
          </div>
        ) : null}
      </div>
      {cancel.error || interrupt.error ? (
        <div className="mt-2">
          <Problem error={cancel.error ?? interrupt.error} />
        </div>
      ) : null}
    </header>
  )
}

function Figures({ view: { worked_ms, working_since, cost_usd } }: { view: SessionView }) {
  const now = useNow()
  // A running clock shows whole seconds, or it would flicker.
  const running_ms = working_since ? Math.max(0, Math.floor((now - working_since) / 1000) * 1000) : 0
  const total = worked_ms + running_ms
  return (
    <span className="tabular flex gap-3 text-soft text-sm">
      {total > 0 ? <span>{formatDuration(total)}</span> : null}
      {cost_usd > 0 ? <span>{formatCost(cost_usd)}</span> : null}
    </span>
  )
}
