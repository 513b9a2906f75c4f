import { NotFoundError, type RunItem } from '@runyard/client'
import { QueryClient, QueryClientProvider, useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { useAccess } from '../client.ts'
import { sessionQuery } from '../shell/session.ts'
import { VisitGate } from '../shell/visit-gate.tsx'
import { NotFound } from '../ui/not-found.tsx'
import { Problem } from '../ui/problem.tsx'
import { Bar, Skeleton } from '../ui/skeleton.tsx'
import { Activity } from './activity.tsx'
import { Artifacts } from './artifacts.tsx'
import { Changes } from './changes.tsx'
import { ChildRuns } from './child-runs.tsx'
import { CommentBar } from './comment-bar.tsx'
import { Composer, type Writing } from './composer.tsx'
import { Conversation, useStayAtEnd } from './conversation.tsx'
import { useLineComments } from './line-comments.ts'
import { PlanLine } from './plan-panel.tsx'
import { PullRequests } from './pull-requests.tsx'
import { RawEvents } from './raw-events.tsx'
import { Result, saidAbove } from './result.tsx'
import { RunFacts } from './run-facts.tsx'
import { RunHeader } from './run-header.tsx'
import { runQuery } from './run-queries.ts'
import { type Feed, useSessionFeed } from './session-feed.ts'
import { useFocusOnQuestion } from './use-focus-on-question.ts'

const ENDED: readonly string[] = ['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED']
/** The result says how they ended. */
const TOLD_ABOVE: readonly string[] = ['FAILED', 'ERROR', 'CANCELLED']

/** One run: what came of it first, then how. */
export function RunPage({ run_id }: { run_id: string }) {
  const { client, is_visitor } = useAccess()
  const { data: run, error, isFetching, refetch } = useQuery(runQuery(client, run_id))
  // Before what was read of it: it may have been deleted since.
  if (error instanceof NotFoundError)
    return is_visitor ? <NotFound kind="run" /> : <VisitedRun run_id={run_id} />
  if (run) return <OpenRun key={run_id} run={run} is_current={!isFetching} />
  return error ? (
    <div className="py-12">
      <Problem error={error} onRetry={() => refetch()} />
    </div>
  ) : (
    <RunSkeleton />
  )
}

/** The run of somebody else, whose link was opened by who has signed in as well. What one of both reads is not the other's. */
function VisitedRun({ run_id }: { run_id: string }) {
  const [queries] = useState(
    () => new QueryClient({ defaultOptions: { queries: { retry: false, staleTime: 5_000 } } }),
  )
  return (
    <QueryClientProvider client={queries}>
      <VisitGate run_id={run_id} refused={<NotFound kind="run" />}>
        <RunPage run_id={run_id} />
      </VisitGate>
    </QueryClientProvider>
  )
}

const RunSkeleton = () => (
  <>
    <h1 className="unseen">Run</h1>
    <Skeleton>
      <Bar className="mt-7 mb-4 h-6 w-2/5" />
      <div className="flex min-h-15 items-center gap-4 border-line border-b">
        <Bar className="h-6 w-24" />
        <Bar className="h-4 w-32" />
      </div>
      <div className="mt-6 grid gap-x-10 gap-y-8 lg:grid-cols-[minmax(0,1fr)_15rem]">
        <div className="grid content-start gap-3">
          {['w-full', 'w-11/12', 'w-4/5', 'w-2/3'].map((width) => (
            <Bar key={width} className={`h-4 ${width}`} />
          ))}
        </div>
        <div className="grid content-start gap-3 max-lg:hidden">
          {['w-full', 'w-2/3', 'w-4/5'].map((width) => (
            <Bar key={width} className={`h-4 ${width}`} />
          ))}
        </div>
      </div>
    </Skeleton>
  </>
)

function OpenRun({ run, is_current }: { run: RunItem; is_current: boolean }) {
  const { client } = useAccess()
  const feed = useSessionFeed(client, run, is_current)
  useFreshRun(run, feed)
  if (!feed) return <RunSkeleton />
  return <Session run={run} feed={feed} />
}

/** Reads again what the log only names: artifacts, changes, what the run is executed with. */
function useFreshRun({ run_id }: RunItem, feed: Feed | undefined): void {
  const { client } = useAccess()
  const queries = useQueryClient()
  const milestones = feed?.view.milestones ?? 0
  useEffect(() => {
    if (milestones === 0) return
    queries.invalidateQueries({ queryKey: runQuery(client, run_id).queryKey })
  }, [queries, client, run_id, milestones])
}

function Session({ run, feed }: { run: RunItem; feed: Feed }) {
  const { may_write } = useAccess()
  const { view, connection, error } = feed
  const [shows_raw, setRaw] = useState(false)
  const { data: session } = useQuery(sessionQuery)
  const commenting = useLineComments({ principal_id: session?.principal.uid ?? '', run_id: run.run_id })
  const said = saidAbove(view)
  const { approval, waits_for } = view.status ?? {}
  const is_asked = view.state === 'BLOCKED' && waits_for !== 'message' && may_write
  useFocusOnQuestion(is_asked ? (approval?.approval_id ?? view.end_key) : undefined)
  const writing: Writing = {
    run_id: run.run_id,
    state: view.state,
    asks_to_allow: approval !== undefined,
    debug_until: run.status_message?.session_debug_until,
    is_debugged: view.is_debugged,
    asks_nothing: view.state === 'BLOCKED' && waits_for === 'message',
  }
  // A run that goes on is followed; one that has ended is read from the top.
  const { has_news, toEnd } = useStayAtEnd(view.live_events, !ENDED.includes(run.state))
  return (
    <>
      <RunHeader run={run} view={view} is_lost={connection === 'lost'} />
      <div className="mt-6 grid gap-x-10 gap-y-8 lg:grid-cols-[minmax(0,1fr)_15rem]">
        <div className="min-w-0">
          {connection === 'over' ? <Problem error={error} /> : null}
          <Result run={run} view={view} said={said} />
          <div className="mt-6 empty:hidden">
            <PullRequests run={run} entries={view.entries} />
          </div>
          <div className="mt-6 empty:hidden">
            <Changes run_id={run.run_id} commenting={may_write ? commenting : undefined} />
          </div>
          <div className="mt-6 empty:hidden">
            <Artifacts artifacts={run.artifacts} />
          </div>
          <div className="mt-6 empty:hidden">
            <ChildRuns run_id={run.run_id} />
          </div>
          <div className="mt-8 mb-3 flex items-center justify-between gap-4">
            <h2 className="m-0 font-semibold text-base">{shows_raw ? 'Events' : 'Conversation'}</h2>
            <button type="button" className="text-sm text-soft underline" onClick={() => setRaw(!shows_raw)}>
              {shows_raw ? 'Conversation' : 'Raw events'}
            </button>
          </div>
          {shows_raw ? (
            <RawEvents run_id={run.run_id} sequence={view.sequence} />
          ) : (
            <Conversation
              entries={view.entries}
              run_id={run.run_id}
              told_keys={[said?.key, TOLD_ABOVE.includes(view.state) ? view.end_key : undefined]}
            />
          )}
          <Activity
            state={view.state}
            tool={view.running_tool}
            is_retrying={view.is_retrying}
            waiting={run.waiting?.message}
          />
          {may_write ? (
            <div className="sticky bottom-0 z-5 bg-paper pt-4 pb-4">
              <CommentBar {...commenting} {...writing} />
              {view.plan ? <PlanLine steps={view.plan} /> : null}
              <Composer {...writing} />
            </div>
          ) : null}
        </div>
        <RunFacts run={run} view={view} />
      </div>
      {has_news ? (
        <button
          type="button"
          className="-translate-x-1/2 fixed bottom-44 left-1/2 z-10 rounded-full border border-line bg-raised px-4 py-1.5 font-medium text-sm shadow-lg"
          onClick={toEnd}
        >
          Latest <span aria-hidden>↓</span>
        </button>
      ) : null}
      <p role="status" className="unseen">
        {view.news}
      </p>
    </>
  )
}
