import type { EventData, NewEvent } from '../contract/event.ts'
import { closesMessages, isInterrupted, MARK } from '../log/interruption.ts'
import { endsStep } from '../log/step-end.ts'
import type { Outcome, Tool } from './harness.ts'
import type { FinishReason } from './model-step.ts'
import { printsCall } from './text-calls.ts'

/**
 * Answers that came whole from the provider and cannot be used as they are. The model is told, and goes on; one that answers
 * so again and again ends the run.
 */

type Told = EventData<'model.told'>

/** In a row; a call that was made in between begins anew. */
export const MAX_FAULTS = 3
/** The result of each call of such an answer. */
export const notMade = ({ text }: Told): string => `${MARK}this call was not made: ${text}`

/** `null`: it can be used. `events`: the step as it is stored. `count`: of faults in a row before it. */
export function judgeAnswer(
  events: readonly NewEvent[],
  finish_reason: FinishReason,
  { tools, count }: { tools: ReadonlyMap<string, Tool>; count: number },
): Told | null {
  if (finish_reason === 'length') return { reason: 'cut', text: describeCut(events) }
  if (finish_reason === 'unreadable-call') return { reason: 'call_unreadable', text: UNREADABLE }
  const text = events
    .flatMap((event) => (event.type === 'message.assistant' ? [event.data.text] : []))
    .join('\n')
  const has_calls = events.some(({ type }) => type === 'tool.call')
  // That it ends in calls may be said of all answers: once is enough to ask for the one that is not there.
  if (finish_reason === 'tool-calls' && !has_calls && count === 0)
    return { reason: 'call_unreadable', text: UNREADABLE }
  return !has_calls && printsCall(text, new Set(tools.keys()))
    ? { reason: 'call_as_text', text: AS_TEXT }
    : null
}

export const tellFault = (data: Told): NewEvent => ({ type: 'model.told', data })

/** Counts such answers since the user last spoke or a call was made. */
export function countFaults(log: readonly NewEvent[]): number {
  const from = log.findLastIndex(
    (event) =>
      event.type === 'message.user' ||
      closesMessages(event) ||
      (event.type === 'tool.result' && !isInterrupted(event.data)),
  )
  return log.slice(from + 1).filter(({ type }) => type === 'model.told').length
}

export const giveUp = ({ reason }: Told, count: number): Outcome => ({
  state: 'FAILED',
  status_message: {
    message: `${ENDINGS[reason]} ${count} times in a row the model was told, and did it again.`,
    retryable: false,
  },
})

function describeCut(events: readonly NewEvent[]): string {
  const { output_tokens = 0 } = events.find(endsStep)?.data ?? {}
  const limit =
    output_tokens > 0 ? `at ${output_tokens} tokens, the limit of one answer` : 'at the limit of one answer'
  const calls = events.some(({ type }) => type === 'tool.call') ? ' None of its calls was made.' : ''
  return `your last answer was cut ${limit}.${calls} Go on in smaller pieces: write a long file in parts, one call each, and keep thoughts and texts short.`
}

const UNREADABLE =
  'the provider could not read the call of a tool in your last answer, so nothing was executed. Make the call again, as a call of a tool that is offered, with arguments that are one JSON object. If no call was meant, say in plain words what is done.'
const AS_TEXT =
  'your last answer has a call of a tool as text, so nothing was executed. Make it as a real call of the tool. If no call was meant, say in plain words what is done.'

const ENDINGS: Readonly<Record<Told['reason'], string>> = {
  cut: 'The answer was cut at the limit of output tokens. A follow-up can tell it what to do in smaller steps, and RUNYARD_MAX_OUTPUT_TOKENS can allow more.',
  call_unreadable: 'The model provider could not read the calls that the model began.',
  call_as_text:
    'The model prints its calls of tools as text, so nothing is executed. Mostly its server has to be told how to read them, such as vLLM by --enable-auto-tool-choice and --tool-call-parser, llama.cpp by --jinja.',
}
