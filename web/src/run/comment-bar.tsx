import { useMutation, useQuery } from '@tanstack/react-query'
import { useBlocker } from '@tanstack/react-router'
import { useAccess } from '../client.ts'
import { countOf } from '../text/format.ts'
import { plainText } from '../text/plain-text.ts'
import { Button } from '../ui/button.tsx'
import { ConfirmButton, ConfirmDialog } from '../ui/confirm-button.tsx'
import { Problem } from '../ui/problem.tsx'
import { CommentField } from './comment-field.tsx'
import { type Writing, wordsOf } from './composer.tsx'
import type { LineComment } from './line-comment.ts'
import { type Commenting, hasLine, keyOf, nameLine, writeComments, writtenOf } from './line-comments.ts'
import { diffQuery, patchQuery } from './run-queries.ts'

/** Sends all comments on lines as one message to the agent, and asks before the page is left with any that are not sent. */
export function CommentBar({ comments, actions, ...writing }: Commenting & Writing) {
  const { client } = useAccess()
  const { run_id, asks_to_allow } = writing
  const written = writtenOf(comments)
  const ready = written.filter(({ is_draft }) => !is_draft)
  const drafts = written.length - ready.length
  const lost = useLostComments(run_id, written)
  const send = useMutation({
    mutationFn: (sent: readonly LineComment[]) =>
      client.runs.followup(run_id, { message: writeComments(sent) }),
    // Others may have been written meanwhile.
    onSuccess: (_, sent) => actions.remove(sent),
  })
  const counts = [
    ready.length > 0 ? `${countOf(ready.length, 'comment')}, not sent yet` : '',
    drafts > 0 ? countOf(drafts, 'draft') : '',
  ]
  return (
    <>
      <LeaveQuestion count={written.length} onDiscard={() => actions.remove(written)} />
      {written.length === 0 ? null : (
        <section
          aria-label="Your comments"
          className="mb-3 grid gap-2 rounded-xl border border-accent/40 bg-raised px-3.5 py-2.5 text-sm"
        >
          {lost.length > 0 ? (
            <div className="grid max-h-[30vh] gap-2 overflow-y-auto">
              <p className="m-0 text-wait">These lines changed after you commented on them:</p>
              {lost.map((comment) => (
                <div key={keyOf(comment)} className="grid gap-1">
                  <code className="text-soft text-xs wrap-anywhere">
                    {plainText(comment.path)}, {nameLine(comment.line)}
                  </code>
                  <CommentField comment={comment} actions={actions} />
                </div>
              ))}
            </div>
          ) : null}
          <div className="flex flex-wrap items-center gap-2">
            <p className="m-0 min-w-28 flex-1">
              <span role="status">{counts.filter(Boolean).join(', and ')}.</span>
              {ready.length > 0 ? (
                <span className={asks_to_allow ? 'text-wait' : 'text-soft'}>
                  {' '}
                  Sent as one message. {wordsOf(writing).hint}
                </span>
              ) : null}
            </p>
            <ConfirmButton
              kind="quiet"
              confirm="Discard"
              question={`${countOf(written.length, 'comment')} will be deleted.`}
              is_busy={send.isPending}
              onConfirm={() => actions.remove(written)}
            >
              Discard
            </ConfirmButton>
            {ready.length > 0 ? (
              <Button kind="primary" disabled={send.isPending} onClick={() => send.mutate(ready)}>
                {send.isPending ? 'Sending…' : `Send ${countOf(ready.length, 'comment')}`}
              </Button>
            ) : null}
          </div>
          {send.error ? <Problem error={send.error} /> : null}
        </section>
      )}
    </>
  )
}

/** Comments on lines that the newest changes no longer have. */
function useLostComments(run_id: string, written: readonly LineComment[]): LineComment[] {
  const { client } = useAccess()
  const { data: diff } = useQuery(diffQuery(client, run_id))
  const { data: parts } = useQuery({
    ...patchQuery(client, diff?.patch?.artifact_uid ?? ''),
    enabled: diff?.patch !== undefined && written.length > 0,
  })
  if (!diff || (diff.patch && !parts)) return []
  const files = new Set(diff.files.map(({ path }) => path))
  return written.filter((comment) => !files.has(comment.path) || !parts || !hasLine(comment, parts))
}

function LeaveQuestion({ count, onDiscard }: { count: number; onDiscard: () => void }) {
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: ({ current, next }) => count > 0 && current.pathname !== next.pathname,
    // The browser asks with words of its own.
    enableBeforeUnload: count > 0,
    withResolver: true,
  })
  return (
    <ConfirmDialog
      is_open={status === 'blocked'}
      onOpen={(is_open) => {
        if (!is_open) reset?.()
      }}
      confirm="Discard and leave"
      dismiss="Stay here"
      question={`${countOf(count, 'comment')} on the changes ${count === 1 ? 'has' : 'have'} not been sent.`}
      onConfirm={() => {
        onDiscard()
        proceed?.()
      }}
    />
  )
}
