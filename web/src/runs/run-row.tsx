import type { RunItem } from '@runyard/client'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { GitMerge, GitPullRequest, GitPullRequestClosed, GitPullRequestDraft } from 'lucide-react'
import { useAccess } from '../client.ts'
import { environmentsQuery } from '../environments/environment-queries.ts'
import { formatCost, formatCount, formatDuration, parseDuration } from '../text/format.ts'
import { plainText } from '../text/plain-text.ts'
import { Ago } from '../ui/moment.tsx'
import { StateBadge } from '../ui/state-badge.tsx'
import { agentOf, changesOf, type Pull, pullOf, reasonOf, taskOf } from './row-facts.ts'

/** Of rows and headings alike. */
const COLUMNS = 'grid lg:grid-cols-[9rem_minmax(0,1fr)_6.5rem_4.5rem_5rem_5.5rem_4.5rem]'

/** What the columns of a wide screen are. Beside the list: each row says it in words to those who hear it. */
export const Headings = ({ is_shifted }: { is_shifted: boolean }) => (
  <div
    aria-hidden
    className={`${COLUMNS} gap-x-4 pb-1.5 text-soft text-xs max-lg:hidden ${is_shifted ? 'pl-8' : ''}`}
  >
    <span>State</span>
    <span>Run</span>
    <span className="text-right">Changes</span>
    <span>Pull request</span>
    <span className="text-right">Created</span>
    <span className="text-right">Duration</span>
    <span className="text-right">Cost</span>
  </div>
)

const REASON_TONES: Partial<Record<string, string>> = { BLOCKED: 'text-wait', QUEUED: 'text-soft' }

/** One run of the list, in two lines; on a narrow screen with a third when there is something to know before opening it. */
export function RunRow({ run, index }: { run: RunItem; index: number }) {
  const spent = run.run_time ? parseDuration(run.run_time) : 0
  const cost = run.request_usage?.inference_cost_usd
  const reason = reasonOf(run)
  const task = taskOf(run)
  const { data: environments } = useQuery(environmentsQuery(useAccess().client))
  const environment = environments?.find(({ uid }) => uid === run.agent_config.environment_id)?.config.name
  const about = [run.archived_at ? 'Archived' : '', agentOf(run), environment, run.creator.display_name]
  return (
    <Link
      to="/sessions/$run_id"
      params={{ run_id: run.run_id }}
      data-row={index}
      className={`${COLUMNS} h-full min-w-0 flex-1 grid-cols-[minmax(0,1fr)_auto] content-center gap-x-4 gap-y-0.5 text-ink no-underline sm:max-lg:grid-cols-[9rem_minmax(0,1fr)_auto] focus-visible:-outline-offset-2`}
    >
      <span className="max-sm:order-2 sm:self-center">
        <StateBadge state={run.state} waits_for={run.status_message?.waits_for} />
      </span>
      <span className="min-w-0 max-sm:order-1 max-sm:col-span-2">
        <span className="block truncate font-medium text-base leading-snug">{plainText(run.title)}</span>
        <span
          className={`flex min-w-0 gap-1.5 text-sm leading-snug ${task || reason ? '' : 'max-sm:hidden'}`}
        >
          {task ? (
            <span className="shrink-0 font-medium text-ink">
              {task}
              {reason ? ':' : ''}
            </span>
          ) : null}
          {reason ? (
            <span className={`min-w-0 truncate ${REASON_TONES[run.state] ?? 'text-bad'}`}>{reason}</span>
          ) : null}
          <span className={`truncate text-soft max-sm:hidden ${reason ? 'max-w-1/3 shrink-0' : 'min-w-0'}`}>
            {task || reason ? '· ' : ''}
            {plainText(about.filter(Boolean).join(' · '))}
          </span>
        </span>
      </span>
      <span className="tabular flex items-center justify-end gap-x-2 self-center text-sm text-soft max-sm:order-3 sm:max-lg:grid sm:max-lg:justify-items-end lg:contents">
        <span className="flex items-center gap-2 empty:hidden sm:max-lg:order-2 lg:contents">
          <Changes run={run} />
          <PullMark pull={pullOf(run)} />
        </span>
        <span className="self-center text-right">
          <span className="unseen">created </span>
          <Ago at={run.created_at} />
        </span>
        <Measure name="duration">{spent > 0 ? formatDuration(spent) : null}</Measure>
        <Measure name="cost">{cost ? formatCost(cost) : null}</Measure>
      </span>
    </Link>
  )
}

/** A column of a wide screen, there where it is empty too. */
const Measure = ({ name, children }: { name: string; children: string | null }) => (
  <span className="self-center whitespace-nowrap text-right max-lg:hidden">
    {children ? (
      <>
        <span className="unseen">{name} </span>
        {children}
      </>
    ) : null}
  </span>
)

function Changes({ run }: { run: RunItem }) {
  const counts = changesOf(run)
  return (
    <span
      className={`self-center whitespace-nowrap text-right font-mono text-xs ${counts ? '' : 'max-lg:hidden'}`}
    >
      {counts ? (
        <>
          <span className="unseen">changed lines </span>
          <span className="text-good">+{formatCount(counts.additions)}</span>{' '}
          <span className="text-bad">−{formatCount(counts.deletions)}</span>
        </>
      ) : null}
    </span>
  )
}

const PULL_LOOKS = {
  open: { Icon: GitPullRequest, tone: 'text-good' },
  draft: { Icon: GitPullRequestDraft, tone: 'text-soft' },
  merged: { Icon: GitMerge, tone: 'text-accent' },
  closed: { Icon: GitPullRequestClosed, tone: 'text-bad' },
  unknown: { Icon: GitPullRequest, tone: 'text-soft' },
} as const

function PullMark({ pull }: { pull: Pull | undefined }) {
  if (!pull) return <span className="max-lg:hidden" />
  const { Icon, tone } = PULL_LOOKS[pull.status] ?? PULL_LOOKS.unknown
  return (
    <span
      title={`Pull request ${pull.name}: ${pull.status}`}
      className={`inline-flex items-center gap-1 self-center whitespace-nowrap ${tone}`}
    >
      <Icon aria-hidden className="size-3.5 shrink-0" />
      <span className="unseen">pull request </span>
      {pull.name.replace('Pull request', '')}
      <span className="unseen"> {pull.status}</span>
    </span>
  )
}
