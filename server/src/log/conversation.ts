import {
  type Conversation,
  type ConversationBlock,
  type ConversationMessage,
  type ConversationStep,
  OUTPUT_BYTES,
} from '../contract/conversation.ts'
import type { EventData, RunEvent } from '../contract/event.ts'
import { indexLog, type LogIndex } from './log-index.ts'

/** Where a page of a conversation begins: in which step, and whether something was said or done in it before. */
export interface StepPlace {
  step: number
  has_begun: boolean
}

const START: StepPlace = { step: 1, has_begun: false }

/**
 * The conversation told by the log: a step for each message of the caller, in it the agent's messages, actions and
 * results, and what happened to the run. Output that the agent was not given in other words is joined into the result, its
 * end; `printed` has what was printed before this page. Text that was stored again under the same id counts in its last form,
 * at its first place. `end` is where the next page begins.
 */
export function buildConversation(
  conversation_id: string,
  events: readonly RunEvent[],
  printed: readonly RunEvent[] = [],
  begin = START,
): { conversation: Omit<Conversation, 'page_info'>; end: StepPlace } {
  const steps: ConversationStep[] = []
  const { texts, outputs } = indexLog([...printed, ...events])
  const actions = new Map<string, Extract<ConversationBlock, { type: 'action' }>>()
  const said = new Set<string>()
  const run_ids = new Set<string>()
  let { step, has_begun } = begin
  const messages = (): ConversationMessage[] => {
    const open = steps.at(-1)
    if (open?.step === step) return open.messages
    const next: ConversationStep = { step, messages: [] }
    steps.push(next)
    return next.messages
  }
  const add = (
    event: RunEvent,
    role: ConversationMessage['role'],
    message_id: string,
    block: ConversationBlock,
  ) => {
    run_ids.add(event.run_id)
    has_begun ||= role !== 'system'
    const list = messages()
    const last = list.at(-1)
    if (last && last.role === role && last.run_id === event.run_id) last.blocks.push(block)
    else list.push({ message_id, run_id: event.run_id, role, created_at: event.occurred_at, blocks: [block] })
  }
  const note = (event: RunEvent) =>
    add(event, 'system', `${event.run_id}:${event.sequence}`, {
      type: 'event',
      event_type: event.type,
      data: event.data,
    })

  for (const event of events) {
    switch (event.type) {
      case 'message.user':
        if (has_begun) step += 1
        add(event, 'user', event.data.message_id, { type: 'text', text: event.data.text })
        break
      case 'message.assistant':
      case 'reasoning': {
        const { message_id } = event.data
        const text = texts.get(message_id) ?? ''
        if (text === '' || said.has(message_id)) break
        said.add(message_id)
        add(event, 'assistant', message_id, {
          type: event.type === 'reasoning' ? 'reasoning' : 'text',
          text,
        })
        break
      }
      case 'tool.call': {
        const { tool_call_id, name, input, title } = event.data
        const titled = title === undefined ? {} : { title }
        const action = { type: 'action' as const, action_id: tool_call_id, name, input, ...titled }
        actions.set(tool_call_id, action)
        add(event, 'assistant', tool_call_id, action)
        break
      }
      case 'approval.requested': {
        const action = actions.get(event.data.tool_call_id)
        if (action && event.data.input) action.input = event.data.input
        break
      }
      case 'tool.result':
        add(event, 'assistant', event.data.tool_call_id, describeResult(event.data, outputs))
        break
      case 'setup':
      case 'attempt.lost':
      case 'interrupted':
      case 'artifact.created':
      case 'changes.pushed':
      case 'reference.reported':
      case 'retrying':
      case 'model.switched':
      case 'context.compacted':
      case 'egress.refused':
      case 'error':
        note(event)
        break
    }
  }
  return { conversation: { conversation_id, run_ids: [...run_ids], steps }, end: { step, has_begun } }
}

function describeResult(result: EventData<'tool.result'>, outputs: LogIndex['outputs']): ConversationBlock {
  const { tool_call_id, output, is_error, exit_code, duration_ms } = result
  return {
    type: 'action_result',
    action_id: tool_call_id,
    is_error,
    ...(output === undefined ? endOf(outputs.get(tool_call_id) ?? '') : { output }),
    ...(exit_code === undefined ? {} : { exit_code }),
    ...(duration_ms === undefined ? {} : { duration_ms }),
  }
}

/** The last OUTPUT_BYTES of a text, in whole characters. */
function endOf(text: string): { output: string; output_truncated?: true } {
  const bytes = Buffer.from(text)
  if (bytes.length <= OUTPUT_BYTES) return { output: text }
  let start = bytes.length - OUTPUT_BYTES
  while (((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1
  return { output: bytes.toString('utf8', start), output_truncated: true }
}
