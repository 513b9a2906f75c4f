import { useMutation } from '@tanstack/react-query'
import { useAccess } from '../client.ts'
import { countOf } from '../text/format.ts'
import { Button } from '../ui/button.tsx'
import { Problem } from '../ui/problem.tsx'
import { type LineComment, writeComments } from './line-comments.ts'

/** Sends all comments on lines as one message to the agent. */
export function CommentBar({
  run_id,
  comments,
  onDone,
}: {
  run_id: string
  comments: readonly LineComment[]
  onDone: () => void
}) {
  const { client } = useAccess()
  const send = useMutation({
    mutationFn: () => client.runs.followup(run_id, { message: writeComments(comments) }),
    onSuccess: onDone,
  })
  if (comments.length === 0) return null
  return (
    <div className="grid gap-2 rounded-xl border border-accent/40 bg-raised px-3.5 py-2.5 text-sm">
      <p className="m-0 flex flex-wrap items-center gap-2">
        <span role="status" className="min-w-40 flex-1">
          {countOf(comments.length, 'comment')}, not sent yet. The run continues with them as one message.
        </span>
        <Button kind="quiet" onClick={onDone}>
          Discard
        </Button>
        <Button kind="primary" disabled={send.isPending} onClick={() => send.mutate()}>
          {send.isPending ? 'Sending…' : `Send ${countOf(comments.length, 'comment')}`}
        </Button>
      </p>
      {send.error ? <Problem error={send.error} /> : null}
    </div>
  )
}
