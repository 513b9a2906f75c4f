import type { RunItem } from '@runyard/client'
import { Prose } from '../text/markdown.tsx'
import { plainText } from '../text/plain-text.ts'
import { ScrollBox, ScrollText } from '../ui/scroll-box.tsx'
import type { Entry } from './entry.ts'
import { EndBlock, LAST_MESSAGE_ID } from './entry-view.tsx'
import type { SessionView } from './session-log.ts'

const ENDED: readonly string[] = ['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED']

/** What came of the run: how it ended, the last words of the agent, what it was to hand over. */
export function Result({
  run,
  view,
  said,
}: {
  run: RunItem
  view: SessionView
  /** The agent's last message, when it is shown here. */
  said: Said | undefined
}) {
  const { state, status, entries, end_key } = view
  if (!ENDED.includes(state)) return null
  const end = entries.find(({ key }) => key === end_key)
  const result = run.result === undefined ? undefined : plainText(run.result)
  const has_result = result !== undefined && result.trim() !== lastMessage(entries)?.text.trim()
  if (state === 'SUCCEEDED' && !said && !has_result) return null
  return (
    <section aria-label="Result" className="grid gap-3">
      {state === 'SUCCEEDED' ? null : (
        <EndBlock
          state={state}
          message={status?.message ?? ''}
          error_code={status?.error_code}
          worked_ms={end?.kind === 'end' ? end.worked_ms : 0}
          has_output
        />
      )}
      {said ? (
        <ScrollBox
          className="max-h-[60vh] overflow-y-auto rounded-xl border border-line bg-raised px-4 py-3"
          id={LAST_MESSAGE_ID}
          label="Last message"
        >
          <Prose text={said.text} />
        </ScrollBox>
      ) : null}
      {has_result ? (
        <ScrollText className="max-h-96 rounded-xl border border-line bg-raised px-4 py-3 text-sm">
          {result}
        </ScrollText>
      ) : null}
    </section>
  )
}

type Said = Extract<Entry, { kind: 'said' }>

/**
 * The agent's last message, when the top of the page shows it: of a run that was opened after its end. Whoever saw the run end
 * has just read it in the conversation, and there it stays.
 */
export function saidAbove({
  state,
  is_end_live,
  entries,
}: Pick<SessionView, 'state' | 'is_end_live' | 'entries'>): Said | undefined {
  return !ENDED.includes(state) || is_end_live ? undefined : lastMessage(entries)
}

/** Of the newest execution: the agent's words before its question are old. */
function lastMessage(entries: readonly Entry[]): Said | undefined {
  const last = entries.findLast(({ kind, ...entry }) =>
    kind === 'asked' ? !('is_waiting' in entry && entry.is_waiting) : kind === 'said',
  )
  return last?.kind === 'said' && last.text.trim() ? last : undefined
}
