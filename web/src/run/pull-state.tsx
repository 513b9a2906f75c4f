import type { PullRequestItem } from '@runyard/client'
import { CircleHelp, GitMerge, GitPullRequest, GitPullRequestClosed, GitPullRequestDraft } from 'lucide-react'
import { plainText } from '../text/plain-text.ts'
import { Ago } from '../ui/moment.tsx'

const LOOKS = {
  open: { Icon: GitPullRequest, look: 'text-good', word: 'Open' },
  draft: { Icon: GitPullRequestDraft, look: 'text-soft', word: 'Draft' },
  merged: { Icon: GitMerge, look: 'text-accent', word: 'Merged' },
  closed: { Icon: GitPullRequestClosed, look: 'text-bad', word: 'Closed, not merged' },
  unknown: { Icon: CircleHelp, look: 'text-soft', word: 'Its host could not be asked' },
} as const

/** How a pull request stands at its host, and what is in its way. */
export function PullState({ pull }: { pull: PullRequestItem }) {
  const { state, base, note, mergeable, merged_at } = pull
  const { Icon, look, word } = LOOKS[state === 'open' && pull.is_draft ? 'draft' : state]
  const is_checked = state === 'open' && mergeable === null
  return (
    <div className="mt-1.5">
      <p className="m-0 flex flex-wrap items-center gap-x-1.5 text-soft">
        <Icon aria-hidden className={`size-4 shrink-0 ${look}`} />
        <span>
          <span className={`font-medium ${look}`}>{word}</span>
          {base === undefined || state === 'closed' ? null : (
            <>
              {' '}
              into <code>{plainText(base)}</code>
            </>
          )}
          {merged_at === undefined ? null : (
            <>
              {' '}
              <Ago at={merged_at} />
            </>
          )}
        </span>
      </p>
      {note === undefined ? null : <p className="m-0 mt-1 text-soft">{plainText(note)}</p>}
      {is_checked ? (
        <p className="m-0 mt-1 text-soft">Its host is finding out whether it can be merged.</p>
      ) : null}
    </div>
  )
}
