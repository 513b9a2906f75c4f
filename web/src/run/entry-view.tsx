import type { RunState, WaitsFor } from '@runyard/client'
import { Link } from '@tanstack/react-router'
import { memo, type ReactNode, useState } from 'react'
import { BASE_PATH, useAccess } from '../client.ts'
import { BreakableText } from '../text/breakable-text.tsx'
import { formatDuration } from '../text/format.ts'
import { Prose } from '../text/markdown.tsx'
import { plainText } from '../text/plain-text.ts'
import { TimeOfDay } from '../ui/moment.tsx'
import { OutsideLink } from '../ui/outside-link.tsx'
import { ScrollText } from '../ui/scroll-box.tsx'
import { ApprovalBlock } from './approval-block.tsx'
import type { Entry, Tone } from './entry.ts'
import { QuestionOptions } from './question-options.tsx'
import { SetupBlock } from './setup-block.tsx'
import { ToolBlock } from './tool-block.tsx'

const NOTE_TONES: Record<Tone, string> = { plain: 'text-soft', warning: 'text-wait', good: 'text-ink' }
const END_TITLES: Record<string, string> = {
  SUCCEEDED: 'Succeeded',
  FAILED: 'Failed',
  ERROR: 'Error',
  BLOCKED: 'Waiting for an answer',
  CANCELLED: 'Cancelled',
}
const WAIT_TITLES: Partial<Record<WaitsFor, string>> = {
  approval: 'Waiting for approval',
  budget: 'Stopped at its budget',
  message: 'Interrupted',
}

function titleOf(state: RunState, error_code: string | undefined, waits_for: WaitsFor | undefined): string {
  if (error_code === 'internal_error') return 'Internal error'
  return (state === 'BLOCKED' && waits_for && WAIT_TITLES[waits_for]) || (END_TITLES[state] ?? state)
}

const END_TONES: Record<string, string> = {
  SUCCEEDED: 'border-good/40 bg-good/5 [--tone:var(--good)]',
  FAILED: 'border-bad/40 bg-bad/5 [--tone:var(--bad)]',
  ERROR: 'border-bad/40 bg-bad/5 [--tone:var(--bad)]',
  BLOCKED: 'border-wait/40 bg-wait/5 [--tone:var(--wait)]',
}

/** Where the result shows the agent's last message. */
export const LAST_MESSAGE_ID = 'last-message'

function goToLastMessage(): void {
  document.getElementById(LAST_MESSAGE_ID)?.focus({ preventScroll: true })
  window.scrollTo({ top: 0 })
}

/** One entry of a conversation. */
export const EntryView = memo(function EntryView({
  entry,
  run_id,
  is_told_above = false,
}: {
  entry: Entry
  run_id: string
  /** The result at the top of the page says the same in full. */
  is_told_above?: boolean
}) {
  switch (entry.kind) {
    case 'asked':
      return <Asked entry={entry} />
    case 'said':
      return is_told_above ? (
        <p className="m-0 text-soft text-sm" data-entry="said">
          The agent’s last message is{' '}
          <button type="button" className="text-accent underline" onClick={goToLastMessage}>
            at the top of the page
          </button>
        </p>
      ) : (
        <article className="py-1" data-entry="said" data-growing={entry.is_growing || undefined}>
          <Prose text={entry.text} is_growing={entry.is_growing} />
        </article>
      )
    case 'reasoning':
      return (
        <details className="text-base text-soft" data-entry="reasoning">
          <summary className="chevron w-fit text-sm">{entry.title}</summary>
          <div className="mt-2 border-line border-l-2 pl-4">
            <Prose text={entry.text} />
          </div>
        </details>
      )
    case 'tool':
      return <ToolBlock call={entry} run_id={run_id} />
    case 'setup':
      return <SetupBlock steps={entry.steps} status={entry.status} />
    case 'approval':
      return <ApprovalBlock run_id={run_id} request={entry.request} answer={entry.answer} />
    case 'note':
      return (
        <p className="m-0 flex flex-wrap gap-x-3 text-sm" data-entry="note">
          <span className={`wrap-anywhere ${NOTE_TONES[entry.tone]}`}>
            <BreakableText text={plainText(entry.text)} />
          </span>
          {entry.url ? <OutsideLink url={entry.url}>{plainText(entry.link)}</OutsideLink> : null}
          {entry.more ? <span className="text-soft">{plainText(entry.more)}</span> : null}
        </p>
      )
    case 'end':
      return (
        <EndBlock
          {...entry}
          {...(entry.question?.is_open ? { message: entry.question.text } : {})}
          {...(is_told_above ? { message: '', error_code: undefined } : {})}
        >
          {entry.question?.is_open ? (
            <QuestionOptions run_id={run_id} options={entry.question.options} />
          ) : null}
          {entry.state === 'BLOCKED' ? null : <ForkFrom run_id={run_id} sequence={entry.sequence} />}
        </EndBlock>
      )
  }
})

/** How an execution ended, and what that means. */
export function EndBlock({
  state,
  message,
  error_code,
  waits_for,
  worked_ms,
  has_output = false,
  children,
}: Pick<Extract<Entry, { kind: 'end' }>, 'state' | 'message' | 'error_code' | 'waits_for' | 'worked_ms'> & {
  /** Whether the end of the output that a message may hold is shown as well. */
  has_output?: boolean
  children?: ReactNode
}) {
  return (
    <div
      className={`rounded-xl border px-4 py-3 text-sm ${END_TONES[state] ?? 'border-line [--tone:var(--soft)]'}`}
      data-entry="end"
      data-state={state}
    >
      <p className="m-0 font-semibold text-(--tone)">
        {titleOf(state, error_code, waits_for)}
        {worked_ms > 0 && state !== 'BLOCKED' ? ` after ${formatDuration(worked_ms)}` : ''}
      </p>
      <EndMessage state={state} {...partMessage(message, error_code)} has_output={has_output} />
      {error_code ? (
        <p className="m-0 mt-1 text-soft">
          Help: <a href={`${BASE_PATH}docs/errors/${encodeURIComponent(error_code)}`}>{error_code}</a>
        </p>
      ) : null}
      {children}
    </div>
  )
}

/** Questions are the agent's own words, in Markdown; the rest are sentences of the service, and may name commands. */
function EndMessage({
  state,
  message,
  output,
  has_output,
}: {
  state: RunState
  message: string
  output: string
  has_output: boolean
}) {
  if (!message) return null
  if (state === 'BLOCKED')
    return (
      <div className="mt-1.5 text-base">
        <Prose text={message} />
      </div>
    )
  return (
    <>
      <p className="m-0 mt-1 wrap-anywhere whitespace-pre-wrap">
        <BreakableText text={plainText(message)} />
      </p>
      {output && has_output ? (
        <details className="mt-1" open>
          <summary className="chevron w-fit text-soft">The end of its output</summary>
          <ScrollText className="mt-1 max-h-88 text-xs leading-relaxed">{plainText(output)}</ScrollText>
        </details>
      ) : null}
    </>
  )
}

/** Of a failed setup: the sentence, and the lines of output that follow it. */
function partMessage(message: string, error_code: string | undefined): { message: string; output: string } {
  const end = error_code === 'environment_setup_failed' ? message.indexOf('.\n') : -1
  return end < 0
    ? { message, output: '' }
    : { message: message.slice(0, end + 1), output: message.slice(end + 2) }
}

function Asked({ entry }: { entry: Extract<Entry, { kind: 'asked' }> }) {
  const { author, at, files, text, is_waiting } = entry
  // A prompt of a thousand lines must not push the answer off the page.
  const is_long = text.length > 1500 || text.split('\n').length > 24
  return (
    <article
      data-entry="asked"
      data-waiting={is_waiting || undefined}
      className={`rounded-xl border border-line px-4 pt-3 pb-4 ${is_waiting ? 'border-dashed' : 'bg-raised'}`}
    >
      <p className="m-0 mb-1.5 flex flex-wrap gap-x-2.5 text-sm text-soft">
        <span className="font-semibold text-ink">{author}</span>
        <TimeOfDay at={at} />
        {is_waiting ? <span>waits for the agent</span> : null}
      </p>
      {is_long ? (
        <Folded>
          <Prose text={text} />
        </Folded>
      ) : (
        <Prose text={text} />
      )}
      {files.length > 0 ? (
        <ul className="m-0 mt-3 flex list-none flex-wrap gap-1.5 p-0 text-sm">
          {files.map((file) => (
            <li key={file} className="rounded-full border border-line px-2.5">
              {file}
            </li>
          ))}
        </ul>
      ) : null}
    </article>
  )
}

/** The start of a long text, and all of it for whoever asks. */
function Folded({ children }: { children: ReactNode }) {
  const [is_open, setOpen] = useState(false)
  return (
    <>
      <div className={is_open ? '' : 'max-h-44 overflow-hidden mask-b-from-70%'} inert={!is_open}>
        {children}
      </div>
      <button
        type="button"
        className="mt-2 text-accent text-sm"
        aria-expanded={is_open}
        onClick={() => setOpen(!is_open)}
      >
        {is_open ? 'Show less' : 'Show all of it'}
      </button>
    </>
  )
}

function ForkFrom({ run_id, sequence }: { run_id: string; sequence: number }) {
  const { may_write } = useAccess()
  if (!may_write) return null
  return (
    <p className="m-0 mt-1">
      <Link to="/new" search={{ fork: run_id, sequence }}>
        Fork from here
      </Link>
    </p>
  )
}
