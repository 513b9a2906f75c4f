import type { ArtifactItem } from '@runyard/client'
import { GitPullRequest } from 'lucide-react'
import { plainText } from '../text/plain-text.ts'
import { OutsideLink } from '../ui/outside-link.tsx'
import type { Entry } from './entry.ts'
import { namePullRequest } from './pull-request-name.ts'

/** What the run asks to be merged: which request, of what, on which host. */
export function PullRequests({
  artifacts,
  entries,
}: {
  artifacts: readonly ArtifactItem[]
  entries: readonly Entry[]
}) {
  const opened = artifacts.filter((artifact) => artifact.artifact_type === 'PULL_REQUEST')
  if (opened.length === 0) return null
  return (
    <ul aria-label="Pull requests" className="m-0 grid list-none gap-2 p-0 text-sm">
      {opened.map(({ data: { url, branch } }) => (
        <li
          key={url}
          className="flex items-start gap-2.5 rounded-xl border border-good/40 bg-good/5 px-4 py-3 font-medium wrap-anywhere"
        >
          <GitPullRequest aria-hidden className="mt-0.5 size-4 shrink-0 text-good" />
          <span className="min-w-0">
            <OutsideLink url={url}>{namePullRequest(url) ?? plainText(branch)}</OutsideLink>
            <span className="block font-normal text-soft">{plainText(titleOf(url, entries) ?? branch)}</span>
          </span>
        </li>
      ))}
    </ul>
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
