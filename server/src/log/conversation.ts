import {
  type Conversation,
  type ConversationBlock,
  type ConversationMessage,
  type ConversationStep,
  OUTPUT_BYTES,
} from '../contract/conversation.ts'
import type { EventData, RunEvent, StoredEvent } from '../contract/event.ts'
import { categoryOf } from './action-category.ts'
import { isDenied } from './denial.ts'
import { indexLog, type LogIndex } from './log-index.ts'
import { OpenCalls } from './open-calls.ts'

/** Where a page of a conversation begins: in which step, and whether something was said or done in it before. */
export interface StepPlace {
  step: number
  has_begun: boolean
}

const START: StepPlace = { step: 1, has_begun: false }

/** As long as the title of a run may be. */
const DESCRIPTION_CHARACTERS = 200

/**
 * The conversation as the log has it: a step for each of the caller's messages, in it the agent's messages, actions and
 * their results, and what happened to the run. A result has what its call printed, the end of it, unless the agent was told
 * something else. Text that was stored again under the same id counts in its last form, at its first place. `before` has what
 * belongs to results of this page and came on an earlier one: calls, and what they printed. `end` is where the next page begins.
 * The last page has a result of each call that runs; what it prints comes with its end.
 */
export function buildConversation(
  conversation_id: string,
  events: readonly RunEvent[],
  before: readonly RunEvent[] = [],
  begin = START,
  is_last = true,
): { conversation: Omit<Conversation, 'page_info'>; end: StepPlace } {
  const steps: ConversationStep[] = []
  // Some models number their calls anew in each run.
  const logs = Map.groupBy([...before, ...events], ({ run_id }) => run_id)
  const indexes = new Map([...logs].map(([run_id, log]) => [run_id, indexLog(log)]))
  const actions = new Map<string, Action>()
  const said = new Set<string>()
  const run_ids = new Set<string>()
  let { step, has_begun } = begin
  const openStep = (at: string): ConversationStep => {
    const id = `${conversation_id}:${step}`
    const open = steps.at(-1)
    if (open?.id === id) return open
    const next: ConversationStep = { id, started_at: at, messages: [], steps: [] }
    steps.push(next)
    return next
  }
  const add = (
    { run_id, occurred_at }: RunEvent,
    role: ConversationMessage['role'],
    message_id: string,
    block: ConversationBlock,
  ) => {
    run_ids.add(run_id)
    has_begun ||= role !== 'system'
    const open = openStep(occurred_at)
    open.completed_at = occurred_at
    if (role === 'user' && block.type === 'text')
      open.description ??= shorten(block.text, DESCRIPTION_CHARACTERS)
    const last = open.messages.at(-1)
    if (last && last.role === role && last.run_id === run_id) {
      last.content.push(block)
      if (!last.message_ids.includes(message_id)) last.message_ids.push(message_id)
    } else
      open.messages.push({
        role,
        content: [block],
        message_ids: [message_id],
        run_id,
        timestamp: occurred_at,
      })
  }
  const keep = ({ data: { tool_call_id, name, input, title } }: StoredEvent<'tool.call'>): Action => {
    const titled = title === undefined ? {} : { title }
    const category = categoryOf(name, input)
    const action: Action = { type: 'action', id: tool_call_id, category, name, input, ...titled }
    actions.set(tool_call_id, action)
    return action
  }

  const open_calls = new OpenCalls()
  for (const event of before) {
    if (event.type === 'tool.call') keep(event)
    open_calls.see(event)
  }
  for (const event of events) {
    open_calls.see(event)
    switch (event.type) {
      case 'message.user': {
        if (has_begun) step += 1
        const { message_id, text } = event.data
        add(event, 'user', message_id, { type: 'text', text, message_id })
        break
      }
      case 'message.assistant':
      case 'reasoning': {
        const { message_id } = event.data
        const text = indexes.get(event.run_id)?.texts.get(message_id) ?? ''
        if (text === '' || said.has(message_id)) break
        said.add(message_id)
        const block: ConversationBlock =
          event.type === 'reasoning'
            ? { type: 'event', name: 'reasoning', data: { text }, message_id }
            : { type: 'text', text, message_id }
        add(event, 'assistant', message_id, block)
        break
      }
      case 'tool.call':
        add(event, 'assistant', event.data.tool_call_id, keep(event))
        break
      case 'approval.requested': {
        const action = actions.get(event.data.tool_call_id)
        if (action && event.data.input) action.input = event.data.input
        break
      }
      case 'tool.result': {
        const { tool_call_id } = event.data
        const action = actions.get(tool_call_id)
        add(
          event,
          'tool',
          tool_call_id,
          describeResult(event.data, action, indexes.get(event.run_id)?.outputs),
        )
        break
      }
      case 'setup':
      case 'attempt.lost':
      case 'debug.ended':
      case 'interrupted':
      case 'artifact.created':
      case 'changes.pushed':
      case 'reference.reported':
      case 'retrying':
      case 'model.switched':
      case 'context.compacted':
      case 'egress.refused':
      case 'error':
        add(event, 'system', `${event.run_id}:${event.sequence}`, {
          type: 'event',
          name: event.type,
          data: event.data,
        })
        break
    }
  }
  const running = is_last ? open_calls.list() : []
  for (const { run_id, data } of running) {
    const { tool_call_id } = data
    const at = { ...(events.at(-1) as RunEvent), run_id }
    add(at, 'tool', tool_call_id, {
      ...resultOf(tool_call_id, actions.get(tool_call_id)),
      state: 'running',
      output: { text: '' },
    })
  }
  if (running.length > 0) delete steps.at(-1)?.completed_at
  return { conversation: { conversation_id, run_ids: [...run_ids], steps }, end: { step, has_begun } }
}

type Action = Extract<ConversationBlock, { type: 'action' }>

function describeResult(
  result: EventData<'tool.result'>,
  action: Action | undefined,
  outputs: LogIndex['outputs'] | undefined,
): ConversationBlock {
  const { tool_call_id, output, is_error, exit_code, duration_ms } = result
  const failed = isDenied(result) ? 'denied' : 'failed'
  return {
    ...resultOf(tool_call_id, action),
    state: is_error ? failed : 'completed',
    output: {
      ...(output === undefined ? endOf(outputs?.get(tool_call_id) ?? '') : { text: output }),
      ...(exit_code === undefined ? {} : { exit_code }),
      ...(duration_ms === undefined ? {} : { duration_ms }),
    },
  }
}

const resultOf = (action_id: string, action: Action | undefined) => ({
  type: 'action_result' as const,
  ...{ action_id, category: action?.category ?? 'integration', name: action?.name ?? 'tool' },
})

/** The last OUTPUT_BYTES of a text, in whole characters. */
function endOf(text: string): { text: string; is_truncated?: true } {
  const bytes = Buffer.from(text)
  if (bytes.length <= OUTPUT_BYTES) return { text }
  let start = bytes.length - OUTPUT_BYTES
  while (((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1
  return { text: bytes.toString('utf8', start), is_truncated: true }
}

/** In whole characters. */
const shorten = (text: string, most: number): string => {
  const characters = [...text.trim().slice(0, 2 * most + 2)]
  return characters.length <= most ? text.trim() : `${characters.slice(0, most - 1).join('')}…`
}
