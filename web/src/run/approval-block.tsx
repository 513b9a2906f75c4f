import type { ApprovalDecision } from '@runyard/client'
import { useMutation } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { useAccess } from '../client.ts'
import { isTyping } from '../shell/typing.ts'
import { plainText } from '../text/plain-text.ts'
import { Button } from '../ui/button.tsx'
import { KeyHint } from '../ui/key-hint.tsx'
import { Problem } from '../ui/problem.tsx'
import { ScrollText } from '../ui/scroll-box.tsx'
import type { DataOf } from './entry.ts'

const SAID: Record<string, string> = {
  allow_once: 'Allowed',
  allow_always: 'Allowed from now on',
  deny: 'Denied',
}

/** A call that waits for a person, with the buttons to answer it; or what was answered. */
export function ApprovalBlock({
  run_id,
  request,
  answer,
}: {
  run_id: string
  request: DataOf<'approval.requested'>
  answer: DataOf<'approval.answered'> | undefined
}) {
  const { tool, title, input } = request
  return (
    <section
      className="rounded-xl border border-wait/40 bg-wait/5 px-4 py-3 text-sm"
      data-entry="approval"
      tabIndex={answer ? undefined : -1}
      data-asks={answer ? undefined : true}
    >
      <p className="m-0">
        <strong className="font-semibold">{answer ? 'Asked to be allowed' : 'Asks to be allowed'}:</strong>{' '}
        <code className="wrap-anywhere">{plainText(title ?? tool)}</code>
      </p>
      {input ? (
        <ScrollText className="mt-2 max-h-64 text-xs leading-relaxed">{plainText(input)}</ScrollText>
      ) : null}
      {answer ? (
        <p className="m-0 mt-1 text-soft">
          {SAID[answer.decision] ?? answer.decision} by {plainText(answer.author)}
          {answer.reason ? `: ${plainText(answer.reason)}` : ''}
        </p>
      ) : (
        <Question run_id={run_id} approval_id={request.approval_id} />
      )}
    </section>
  )
}

function Question({ run_id, approval_id }: { run_id: string; approval_id: string }) {
  const { client, may_write } = useAccess()
  const [reason, setReason] = useState('')
  const answer = useMutation({
    mutationFn: (decision: ApprovalDecision) =>
      client.runs.answerApproval(run_id, approval_id, {
        decision,
        ...(decision === 'deny' && reason.trim() ? { reason: reason.trim() } : {}),
      }),
  })
  // Until the event of the answer is here, it must not be given twice.
  const is_given = answer.isPending || answer.isSuccess
  useAnswerKeys(may_write && !is_given, answer.mutate)
  if (!may_write)
    return <p className="m-0 mt-1 text-soft">Somebody who may write to this run has to answer.</p>
  return (
    <form
      className="mt-3 grid gap-2"
      onSubmit={(event) => {
        event.preventDefault()
        answer.mutate('deny')
      }}
    >
      <div className="flex flex-wrap gap-2">
        <Button
          kind="primary"
          disabled={is_given}
          aria-keyshortcuts="a"
          onClick={() => answer.mutate('allow_once')}
        >
          Allow once <KeyHint className="border-current/40! text-current! max-sm:hidden">a</KeyHint>
        </Button>
        <Button disabled={is_given} onClick={() => answer.mutate('allow_always')}>
          Always for this run
        </Button>
      </div>
      <div className="flex flex-wrap gap-2">
        <input
          aria-label="Why it is denied, for the agent"
          placeholder="Why not, for the agent (optional)"
          className="min-h-9 min-w-0 flex-1 rounded-lg border border-line bg-raised px-3 text-sm"
          maxLength={4000}
          value={reason}
          onChange={(event) => setReason(event.target.value)}
        />
        <Button kind="danger" type="submit" disabled={is_given} aria-keyshortcuts="d">
          Deny <KeyHint className="max-sm:hidden">d</KeyHint>
        </Button>
      </div>
      {answer.error ? <Problem error={answer.error} /> : null}
    </form>
  )
}

/** `a` allows the call once and `d` denies it, wherever nobody types. A key that is held down does not answer the next call, too. */
function useAnswerKeys(is_open: boolean, answer: (decision: ApprovalDecision) => void): void {
  const latest = useRef(answer)
  latest.current = answer
  useEffect(() => {
    if (!is_open) return
    const onKeyDown = (event: KeyboardEvent) => {
      const decision = event.key === 'a' ? 'allow_once' : event.key === 'd' ? 'deny' : undefined
      if (!decision || event.repeat || isTyping(event)) return
      event.preventDefault()
      latest.current(decision)
    }
    document.addEventListener('keydown', onKeyDown)
    return () => document.removeEventListener('keydown', onKeyDown)
  }, [is_open])
}
