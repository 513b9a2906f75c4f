import { setImmediate as nextTurn } from 'node:timers/promises'
import type { EventData, NewEvent } from '../contract/event.ts'
import { RUNBOOK } from '../contract/harness-fields.ts'
import { closeInterrupted, isInterrupted, TURN_STOPPED, WORKER_LOST } from '../log/interruption.ts'
import { callId, newMessage, noteId, type OpenMessage, openMessages, textId } from '../log/open-messages.ts'
import { quote } from '../sandbox/sandbox.ts'
import { type CommandEnd, runCommand } from './command.ts'
import { type Harness, type Outcome, STOPPED_TURN, type Turn, turnOf } from './harness.ts'
import { MODEL_VARIABLES } from './model-variables.ts'
import { parseRunbook, type Runbook, type Step } from './runbook-steps.ts'

/** How a message or a step left the turn: go on, stop because the signal fired, or a failure to report at the end. */
type Progress = { type: 'done' } | { type: 'stopped' } | { type: 'failed'; outcome: Outcome }
const DONE: Progress = { type: 'done' }
const STOPPED: Progress = { type: 'stopped' }

/**
 * Runs the fenced shell blocks of the user's messages as steps, in order, without a model. A step that fails ends its
 * message; messages behind it are still run, since a follow-up that was accepted is never dropped, and the outcome is
 * the first failure. What is left to do is computed from the log alone, so another worker can go on at any point.
 */
export const runbook: Harness = {
  traits: RUNBOOK,
  open: async (execution) => ({
    turn: (request) => runTurn(turnOf(execution, request)),
    close: async () => {},
  }),
}

async function runTurn(turn: Turn): Promise<Outcome> {
  const queue = openMessages(turn.history)
  const takeFollowups = async () => {
    for (const event of await turn.inbox.take()) queue.push(newMessage(event.data))
  }
  let failure: Outcome | undefined
  let ran = false
  const idle: OpenMessage[] = []
  for (let next = 0; !turn.signal.aborted; next += 1) {
    if (next === queue.length) await takeFollowups()
    const message = queue[next]
    if (message === undefined) break
    // Reading a message may take some tenths of a second: what else happens here gets its turn between two.
    await nextTurn()
    const book = parseRunbook(textOf(turn, message), turn.mask)
    const progress = await runMessage(turn, message, book, takeFollowups)
    if (progress.type === 'stopped') break
    if (progress.type === 'failed') failure ??= progress.outcome
    if (hasSteps(book)) ran = true
    else idle.push(message)
  }
  if (turn.signal.aborted) return STOPPED_TURN
  if (!failure && !ran) return nothingToRun(queue)
  await noteIdle(turn, idle)
  return failure ?? { state: 'SUCCEEDED' }
}

/** Where others ran, a message without a step is not what the run fails of, but nobody should take it for done. */
async function noteIdle(turn: Turn, idle: readonly OpenMessage[]): Promise<void> {
  for (const { message_id, is_prompt, text, said } of idle) {
    const id = textId(message_id, 0)
    if (said.has(id)) continue
    const it = is_prompt ? 'The prompt' : 'This follow-up'
    await turn.emit(
      assistantSays(id, `${it} holds no fenced sh or bash block, so nothing was run for it: “${cut(text)}”`),
    )
  }
}

const QUOTED = 80
const cut = (text: string): string => {
  const line = text.trim().replace(/\s+/g, ' ')
  return line.length > QUOTED ? `${line.slice(0, QUOTED).toWellFormed()}…` : line
}

/** The run's first message has the steps of its skill before its own. */
function textOf({ skill, history }: Turn, { message_id, text }: OpenMessage): string {
  const first = history.find((event) => event.type === 'message.user')
  return skill && first?.data.message_id === message_id ? `${skill.text}\n\n${text}` : text
}

async function runMessage(
  turn: Turn,
  message: OpenMessage,
  book: Runbook,
  takeFollowups: () => Promise<void>,
): Promise<Progress> {
  const { message_id, said } = message
  if (book.problem !== undefined) return failed(book.problem, 'invalid_request')
  // Without a step the text is a request nobody here can answer; repeating it as commentary would look like one.
  if (!hasSteps(book)) return DONE
  for (const [index, part] of book.parts.entries()) {
    if (turn.signal.aborted) return STOPPED
    if (part.type === 'text') {
      const id = textId(message_id, index)
      if (!said.has(id)) await turn.emit(assistantSays(id, part.text))
      continue
    }
    const progress = await settleStep(turn, message, part.step)
    if (turn.signal.aborted) return STOPPED
    await takeFollowups()
    if (progress.type !== 'done') return progress
  }
  return DONE
}

/** Runs a step unless the log holds its result; says how it ended either way. */
async function settleStep(turn: Turn, message: OpenMessage, step: Step): Promise<Progress> {
  const before = message.steps.get(step.number)
  if (before?.result && !isInterrupted(before.result)) return judge(step, before.result)
  const repeat = before?.calls ?? 0
  const tool_call_id = callId(message.message_id, step.number, repeat)
  const opening: NewEvent[] = []
  if (before && !before.result) {
    opening.push({ type: 'tool.result', data: closeInterrupted(before.tool_call_id, WORKER_LOST) })
  }
  if (before && step.on_lost === 'fail') {
    if (opening.length > 0) await turn.emit(...opening)
    return failed(`${nameOf(step)} was interrupted, and on-lost=fail forbids running it again.`)
  }
  const note = noteId(message.message_id, step.number, repeat)
  if (before && !message.said.has(note)) {
    opening.push(assistantSays(note, `${nameOf(step)} was interrupted before it ended. Running it again.`))
  }
  const { command, title } = step
  // Stored before it has an effect: a worker that finds the call knows that the command may have run.
  await turn.emit(...opening, {
    type: 'tool.call',
    data: { tool_call_id, name: 'bash', input: { command }, title },
  })
  const end = await runCommand(turn, tool_call_id, {
    command: shellCommand(step),
    timeout_ms: step.timeout_ms,
  })
  const result = resultOf(tool_call_id, step, end)
  await turn.emit({ type: 'tool.result', data: result })
  return isInterrupted(result) ? STOPPED : judge(step, result)
}

function resultOf(tool_call_id: string, step: Step, end: CommandEnd): EventData<'tool.result'> {
  const { duration_ms, truncated_bytes, code: exit_code } = end
  const figures = { duration_ms, truncated_bytes }
  if (end.aborted) return { ...closeInterrupted(tool_call_id, TURN_STOPPED), ...figures }
  const result = { tool_call_id, is_error: exit_code !== 0, exit_code, ...figures }
  if (end.timed_out)
    return { ...result, is_error: true, output: `was stopped at its timeout of ${step.timeout}` }
  if (end.killed !== null && result.is_error) return { ...result, output: `was ${end.killed}` }
  if (exit_code === null) return { ...result, output: `was ended by ${end.signal ?? 'a signal'}` }
  return result
}

function judge(step: Step, result: EventData<'tool.result'>): Progress {
  if (!result.is_error || step.continue_on_error) return DONE
  return failed(`${nameOf(step)} ${result.output ?? `ended with exit code ${result.exit_code}`}.`)
}

function nothingToRun(messages: OpenMessage[]): Outcome {
  if (messages.length === 0) return { state: 'SUCCEEDED' }
  if (!messages.some((message) => message.is_prompt)) {
    return failure(
      'The follow-up holds no fenced sh or bash block, so there is nothing to run.',
      'invalid_request',
    )
  }
  return failure(
    'The prompt holds no fenced sh or bash block, and the runbook harness runs nothing else. ' +
      `To have a model answer it, set ${MODEL_VARIABLES} for the service and use the harness "oz".`,
    'integration_not_configured',
  )
}

type FailureCode = 'invalid_request' | 'integration_not_configured'

// A failed command has no error code: none of them is about what a caller's own command did.
const failure = (message: string, error_code?: FailureCode): Outcome => ({
  state: 'FAILED',
  status_message: { message, ...(error_code && { error_code }), retryable: false },
})
const failed = (message: string, error_code?: FailureCode): Progress => ({
  type: 'failed',
  outcome: failure(message, error_code),
})
const hasSteps = ({ parts, problem }: Runbook) =>
  problem !== undefined || parts.some((part) => part.type === 'step')
const nameOf = (step: Step) => `Step ${step.number} "${step.title}"`
const assistantSays = (message_id: string, text: string): NewEvent => ({
  type: 'message.assistant',
  data: { message_id, text },
})
// The sandbox may have bash or only sh for `sh -c`; a block that says bash must not be run by anything else.
const shellCommand = ({ shell, command }: Step) =>
  shell === 'bash' ? `exec bash -c ${quote(command)}` : command
