import type { ArtifactItem, PullRequestItem, RunItem } from '@runyard/client'
import { useQuery } from '@tanstack/react-query'
import { useAccess } from '../client.ts'
import { plainText } from '../text/plain-text.ts'
import { OutsideLink } from '../ui/outside-link.tsx'
import type { Entry } from './entry.ts'
import { MergeButton } from './merge-button.tsx'
import { namePullRequest } from './pull-request-name.ts'
import { PullState } from './pull-state.tsx'
import { pullsQuery } from './run-queries.ts'

type Opened = Extract<ArtifactItem, { artifact_type: 'PULL_REQUEST' }>

/** What the run asks to be merged: which request, of what, on which host, how it stands there, and the button that merges it. */
export function PullRequests({ run, entries }: { run: RunItem; entries: readonly Entry[] }) {
  const { client, is_visitor } = useAccess()
  const opened = run.artifacts.filter(
    (artifact): artifact is Opened => artifact.artifact_type === 'PULL_REQUEST',
  )
  const { data } = useQuery({
    ...pullsQuery(client, run.run_id),
    enabled: !is_visitor && opened.length > 0,
  })
  if (opened.length === 0) return null
  return (
    <ul aria-label="Pull requests" className="m-0 grid list-none gap-2 p-0 text-sm">
      {opened.map(({ data: { url, branch } }) => {
        const pull = data?.find((each) => each.url === url)
        return (
          <PullRequest
            key={url}
            run_id={run.run_id}
            url={url}
            branch={branch}
            title={pull?.title ?? titleOf(url, entries) ?? branch}
            pull={pull}
          />
        )
      })}
    </ul>
  )
}

function PullRequest({
  run_id,
  url,
  branch,
  title,
  pull,
}: {
  run_id: string
  url: string
  branch: string
  title: string
  pull: PullRequestItem | undefined
}) {
  const { may_write } = useAccess()
  const merges = may_write && pull?.state === 'open' && pull.merge_method !== undefined
  return (
    <li className="flex flex-wrap items-start gap-x-4 gap-y-2 rounded-xl border border-line bg-raised px-4 py-3 wrap-anywhere">
      <div className="min-w-48 flex-1">
        <span className="font-medium">
          <OutsideLink url={url}>{namePullRequest(url) ?? plainText(branch)}</OutsideLink>
        </span>
        <span className="block text-soft">{plainText(title)}</span>
        {pull ? <PullState pull={pull} /> : null}
      </div>
      {merges ? <MergeButton run_id={run_id} pull={pull} /> : null}
    </li>
  )
}

/** What the agent called it when it opened it. */
function titleOf(url: string, entries: readonly Entry[]): string | undefined {
  const call = entries.findLast(
    (entry) =>
      entry.kind === 'tool' && entry.name === 'open_pull_request' && entry.result?.output?.includes(url),
  )
  return call?.kind === 'tool' && typeof call.input.title === 'string' ? call.input.title : undefined
}
