import type { RunItem } from '@runyard/client'
import { Prose } from '../text/markdown.tsx'
import { plainText } from '../text/plain-text.ts'
import { ScrollBox, ScrollText } from '../ui/scroll-box.tsx'
import type { Entry } from './entry.ts'
import { EndBlock } from './entry-view.tsx'
import type { SessionView } from './session-log.ts'

const ENDED: readonly string[] = ['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED']

/** What came of the run: how it ended, the last words of the agent, what it was to hand over. */
export function Result({ run, view }: { run: RunItem; view: SessionView }) {
  const { state, status, entries, end_key } = view
  if (!ENDED.includes(state)) return null
  const said = lastWords(entries)
  const end = entries.find(({ key }) => key === end_key)
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
          label="Last message"
        >
          <Prose text={said} />
        </ScrollBox>
      ) : null}
      {run.result === undefined ? null : (
        <ScrollText className="max-h-96 rounded-xl border border-line bg-raised px-4 py-3 text-sm">
          {plainText(run.result)}
        </ScrollText>
      )}
    </section>
  )
}

/** Of the newest execution: what was said before its question is old. */
function lastWords(entries: readonly Entry[]): string {
  for (const entry of entries.toReversed()) {
    if (entry.kind === 'said') return entry.text
    if (entry.kind === 'asked' && !entry.is_waiting) return ''
  }
  return ''
}
