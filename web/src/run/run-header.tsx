import type { RunItem } from '@runyard/client'
import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Link2, MessageSquare, Square, X } from 'lucide-react'
import { type RefObject, useEffect, useRef, useState } from 'react'
import { useAccess } from '../client.ts'
import { formatCost, formatDuration } from '../text/format.ts'
import { firstLine, plainText } from '../text/plain-text.ts'
import { Button, buttonClass } from '../ui/button.tsx'
import { useNow } from '../ui/clock.ts'
import { ConfirmButton } from '../ui/confirm-button.tsx'
import { Problem } from '../ui/problem.tsx'
import { lookOf, StateBadge } from '../ui/state-badge.tsx'
import { sayActivity } from './activity.tsx'
import { TO_WRITE } from './composer.tsx'
import { ANEW, OPEN, WORKING } from './run-actions.ts'
import { RunMenu } from './run-menu.tsx'
import type { SessionView } from './session-log.ts'
import { ShareDialog } from './share-dialog.tsx'

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
  const heading = useRef<HTMLHeadingElement>(null)
  const is_past_title = useIsPast(heading)
  const [shares, setShares] = useState(false)
  const [problem, setProblem] = useState<Error | null>(null)
  return (
    <>
      <h1 ref={heading} className="m-0 pt-6 pb-3 font-semibold text-xl wrap-anywhere">
        {title}
      </h1>
      <header className="-mx-(--edge) sticky top-0 z-10 border-line border-b bg-paper/95 px-(--edge) py-2 backdrop-blur-sm">
        <div className="flex items-center gap-3">
          {/* As high with its second line as without: nothing moves when the title goes out of sight. */}
          <div className="grid min-h-11 min-w-0 flex-1 content-center">
            <div className="flex min-w-0 items-center gap-x-4 overflow-hidden whitespace-nowrap">
              <StateBadge state={state} waits_for={view.status?.waits_for} />
              {run.archived_at ? (
                <span className="rounded-full bg-ink/6 px-2.5 text-sm text-soft">Archived</span>
              ) : null}
              {is_lost ? (
                <span role="status" className="rounded-full bg-wait/15 px-2.5 text-sm text-wait">
                  Reconnecting…
                </span>
              ) : null}
              <Figures view={view} />
            </div>
            <p className="m-0 flex min-w-0 gap-3 text-sm empty:hidden">
              {is_past_title ? <span className="min-w-0 truncate font-medium">{title}</span> : null}
              <Reason view={view} is_past_title={is_past_title} />
            </p>
          </div>
          {may_write ? (
            <div className="flex shrink-0 gap-2">
              <Button onClick={() => document.getElementById('composer')?.focus()}>
                <MessageSquare aria-hidden className="size-4" />
                <span className="max-sm:sr-only">
                  {view.status?.approval
                    ? 'Message'
                    : view.status?.waits_for === 'message'
                      ? 'Follow up'
                      : (TO_WRITE[state] ?? 'Follow up')}
                </span>
              </Button>
              {state === 'INPROGRESS' ? (
                <Button disabled={interrupt.isPending} onClick={() => interrupt.mutate()}>
                  <Square aria-hidden className="size-3.5" />
                  <span className="max-sm:sr-only">Interrupt</span>
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
                  <span className="max-sm:sr-only">Cancel</span>
                </ConfirmButton>
              ) : null}
              <span className="flex gap-2 max-sm:hidden">
                {is_open
                  ? null
                  : ANEW.map(({ label, Icon, searchFor }) => (
                      <Link key={label} to="/new" search={searchFor(run_id)} className={buttonClass()}>
                        <Icon aria-hidden className="size-4" />
                        {label}
                      </Link>
                    ))}
                {is_visitor ? null : (
                  <Button aria-haspopup="dialog" onClick={() => setShares(true)}>
                    <Link2 aria-hidden className="size-4" />
                    Share
                  </Button>
                )}
              </span>
              {is_visitor ? null : (
                <RunMenu
                  run={run}
                  is_open={is_open}
                  is_working={WORKING.includes(state)}
                  onShare={() => setShares(true)}
                  onProblem={setProblem}
                />
              )}
            </div>
          ) : null}
        </div>
        {cancel.error || interrupt.error || problem ? (
          <div className="mt-2">
            <Problem error={cancel.error ?? interrupt.error ?? problem} />
          </div>
        ) : null}
      </header>
      <ShareDialog run_id={run_id} is_open={shares} onOpen={setShares} />
    </>
  )
}

/** What is asked, or why it ended so, once that has gone out of sight; or what happens now. One line. */
function Reason({
  view: { state, status, running_tool, is_retrying },
  is_past_title,
}: {
  view: SessionView
  is_past_title: boolean
}) {
  const why = state === 'BLOCKED' || is_past_title ? (status?.message ?? '') : ''
  const words = sayActivity(state, running_tool, is_retrying) ?? firstLine(why)
  if (!words) return null
  return (
    <span className={`min-w-0 flex-1 truncate text-soft ${is_past_title ? 'max-sm:hidden' : ''}`}>
      {words}
    </span>
  )
}

/** Whether an element has gone out of sight above. */
function useIsPast(element: RefObject<HTMLElement | null>): boolean {
  const [is_past, setPast] = useState(false)
  useEffect(() => {
    if (!element.current) return
    const observer = new IntersectionObserver(([entry]) => {
      if (entry) setPast(!entry.isIntersecting && entry.boundingClientRect.top < 0)
    })
    observer.observe(element.current)
    return () => observer.disconnect()
  }, [element])
  return is_past
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
