import type { RunState } from '@runyard/client'
import { StatusDot } from './status-dot.tsx'

const WORDS: Partial<Record<RunState, string>> = {
  QUEUED: 'Waiting to start',
  CLAIMED: 'Preparing the sandbox',
  INPROGRESS: 'Working',
}

/** What happens at the moment; undefined when nothing does. */
export function sayActivity(
  state: RunState,
  tool: string | undefined,
  is_retrying: boolean,
): string | undefined {
  if (state === 'INPROGRESS' && is_retrying) return 'Waiting for the provider'
  const words = WORDS[state]
  return words && state === 'INPROGRESS' && tool ? `${words}: ${tool}` : words
}

/** The same, where the conversation goes on. */
export function Activity({
  state,
  tool,
  is_retrying,
  waiting,
}: {
  state: RunState
  tool: string | undefined
  is_retrying: boolean
  /** Why it is queued. */
  waiting: string | undefined
}) {
  const words = state === 'QUEUED' && waiting ? waiting : sayActivity(state, tool, is_retrying)
  if (!words) return null
  return (
    <p className="m-0 mt-4 flex items-center gap-2.5 text-sm text-soft wrap-anywhere" data-activity>
      <StatusDot status={state === 'QUEUED' ? 'stopped' : 'running'} />
      <span>{words}</span>
    </p>
  )
}
