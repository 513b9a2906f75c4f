import type { RunFollowupRequest, RunState } from '@runyard/client'
import { useMutation } from '@tanstack/react-query'
import { type KeyboardEvent, useState } from 'react'
import { useAccess } from '../client.ts'
import { Button } from '../ui/button.tsx'
import { addFiles, FileButton, FileChips } from '../ui/file-picker.tsx'
import { Problem } from '../ui/problem.tsx'
import { readAttachment } from '../ui/read-attachment.ts'

interface Words {
  label: string
  hint: string
}

const WORDS: Partial<Record<RunState, Words>> = {
  QUEUED: { label: 'Add to the prompt', hint: 'The agent gets it when it starts.' },
  CLAIMED: { label: 'Add to the prompt', hint: 'The agent gets it when it starts.' },
  INPROGRESS: { label: 'Message the agent', hint: 'The agent gets it at its next step.' },
  BLOCKED: { label: 'Answer the agent', hint: 'The run goes on with your answer.' },
}
/** The buttons above answer what is asked. */
const BESIDE: Words = {
  label: 'Or send it something else',
  hint: 'The call is not made; the run goes on with your message.',
}
const ENDED: Words = { label: 'Follow up', hint: 'The run goes on, with its conversation and its workspace.' }

/** A run whose setup failed: its sandbox is kept for a while. */
const debugWords = (until: string): Words => ({
  label: 'Ask the agent in the failed sandbox',
  hint: `Until ${new Date(until).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })}. The run stays failed.`,
})

/** The same as the label of a button. */
export const TO_WRITE: Partial<Record<RunState, string>> = {
  QUEUED: 'Add',
  CLAIMED: 'Add',
  INPROGRESS: 'Message',
  BLOCKED: 'Answer',
}

/** What a message to the run does depends on. */
export interface Writing {
  run_id: string
  state: RunState
  asks_to_allow: boolean
  /** It was stopped, and nothing was asked. */
  asks_nothing?: boolean
  /** Until when a message asks an agent where the setup failed. */
  debug_until?: string | undefined
  is_debugged?: boolean
}

export function wordsOf({ state, asks_to_allow, asks_nothing, debug_until, is_debugged }: Writing): Words {
  if (state === 'BLOCKED' && asks_to_allow) return BESIDE
  if (asks_nothing) return ENDED
  const ended = debug_until === undefined ? ENDED : debugWords(debug_until)
  return WORDS[is_debugged ? 'INPROGRESS' : state] ?? ended
}

/** Where a person writes to the agent, in every state: what a message does is said before it is sent. */
export function Composer(writing: Writing) {
  const { run_id, state, asks_to_allow, asks_nothing = false, is_debugged = false } = writing
  const { client } = useAccess()
  const [message, setMessage] = useState('')
  const [files, setFiles] = useState<File[]>([])
  const is_asking = state === 'BLOCKED' && !asks_to_allow && !asks_nothing
  const { label, hint } = wordsOf(writing)
  const is_working = state === 'INPROGRESS' || is_debugged
  const send = useMutation({
    mutationFn: async (on_busy: RunFollowupRequest['on_busy']) => {
      const attachments = await Promise.all(files.map(readAttachment))
      return client.runs.followup(run_id, {
        message,
        ...(on_busy ? { on_busy } : {}),
        ...(attachments.length > 0 ? { attachments } : {}),
      })
    },
    onSuccess: () => {
      setMessage('')
      setFiles([])
    },
  })
  const can_send = message.trim() !== '' && !send.isPending
  const submit = (on_busy?: RunFollowupRequest['on_busy']) => {
    if (can_send) send.mutate(on_busy)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    // The Enter that ends a composition in an input method is none of ours.
    if (event.key !== 'Enter' || event.nativeEvent.isComposing) return
    if (!event.metaKey && !event.ctrlKey) return
    event.preventDefault()
    submit()
  }
  return (
    <form
      className={`grid gap-2 rounded-xl border bg-raised p-3 focus-within:border-soft ${is_asking ? 'border-wait' : 'border-line'}`}
      aria-label={label}
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      <textarea
        id="composer"
        aria-label={label}
        placeholder={label}
        className="field-sizing-content max-h-[40vh] min-h-9 w-full resize-none bg-transparent px-1 text-base outline-none"
        rows={1}
        value={message}
        onChange={(event) => setMessage(event.target.value)}
        onKeyDown={onKeyDown}
        onPaste={(event) => setFiles(addFiles(files, event.clipboardData.files))}
      />
      <FileChips files={files} onFiles={setFiles} />
      {send.error ? <Problem error={send.error} /> : null}
      <div className="flex flex-wrap items-center gap-2">
        <FileButton files={files} onFiles={setFiles} />
        <span className="min-w-0 flex-1 text-soft text-sm max-sm:order-first max-sm:basis-full max-sm:px-1">
          {hint}
          {is_working ? ' Stop and send ends what it does now.' : ''}
        </span>
        <span className="ml-auto flex gap-2">
          {is_working ? (
            <Button disabled={!can_send} onClick={() => submit('interrupt')}>
              Stop and send
            </Button>
          ) : null}
          <Button kind="primary" type="submit" disabled={!can_send} title="Ctrl + Enter">
            {send.isPending ? 'Sending…' : 'Send'}
          </Button>
        </span>
      </div>
    </form>
  )
}
