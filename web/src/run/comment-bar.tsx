import { useMutation } from '@tanstack/react-query'
import { useBlocker } from '@tanstack/react-router'
import { useAccess } from '../client.ts'
import { countOf } from '../text/format.ts'
import { Button } from '../ui/button.tsx'
import { ConfirmDialog } from '../ui/confirm-button.tsx'
import { Problem } from '../ui/problem.tsx'
import { type LineComment, writeComments } from './line-comments.ts'

/** Sends all comments on lines as one message to the agent, and asks before the page is left with any that are not sent. */
export function CommentBar({
  run_id,
  comments,
  onRemove,
}: {
  run_id: string
  comments: ReadonlyMap<string, LineComment>
  onRemove: (comments: readonly LineComment[]) => void
}) {
  const { client } = useAccess()
  const written = [...comments.values()].filter(({ text }) => text.trim() !== '')
  const ready = written.filter(({ is_draft }) => !is_draft)
  const drafts = written.length - ready.length
  const send = useMutation({
    mutationFn: (sent: readonly LineComment[]) =>
      client.runs.followup(run_id, { message: writeComments(sent) }),
    // Others may have been written meanwhile.
    onSuccess: (_, sent) => onRemove(sent),
  })
  return (
    <>
      <LeaveQuestion count={written.length} />
      {ready.length === 0 ? null : (
        <div className="mb-3 grid gap-2 rounded-xl border border-accent/40 bg-raised px-3.5 py-2.5 text-sm">
          <p className="m-0 flex flex-wrap items-center gap-2">
            <span role="status" className="min-w-28 flex-1">
              {countOf(ready.length, 'comment')}, not sent yet
              {drafts > 0 ? `, and ${countOf(drafts, 'draft')}` : ''}.
              <span className="max-sm:hidden"> The run continues with what you send as one message.</span>
            </span>
            <Button kind="quiet" disabled={send.isPending} onClick={() => onRemove(ready)}>
              Discard
            </Button>
            <Button kind="primary" disabled={send.isPending} onClick={() => send.mutate(ready)}>
              {send.isPending ? 'Sending…' : `Send ${countOf(ready.length, 'comment')}`}
            </Button>
          </p>
          {send.error ? <Problem error={send.error} /> : null}
        </div>
      )}
    </>
  )
}

function LeaveQuestion({ count }: { count: number }) {
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
      onConfirm={() => proceed?.()}
    />
  )
}
