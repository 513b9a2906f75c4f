import type { Conversation, ConversationBlock, ConversationMessage } from '../contract/conversation.ts'
import type { RunEvent } from '../contract/event.ts'
import { indexLog } from './log-index.ts'

/**
 * The conversation told by the log: a step for each message of the caller, in it the agent's messages, actions and
 * results, and what happened to the run. Output that the agent was not given in other words is joined into the result. Text
 * that was stored again under the same id counts in its last form, at its first place.
 */
export function buildConversation(conversation_id: string, events: readonly RunEvent[]): Conversation {
  const steps: Conversation['steps'] = []
  const { texts, outputs } = indexLog(events)
  const said = new Set<string>()
  const run_ids = new Set<string>()

  const messages = (): ConversationMessage[] => {
    if (steps.length === 0) steps.push({ step: 1, messages: [] })
    return steps.at(-1)?.messages ?? []
  }
  const add = (
    event: RunEvent,
    role: ConversationMessage['role'],
    message_id: string,
    block: ConversationBlock,
  ) => {
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
    run_ids.add(event.run_id)
    switch (event.type) {
      case 'message.user':
        if (messages().some((message) => message.role !== 'system')) {
          steps.push({ step: steps.length + 1, messages: [] })
        }
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
        add(event, 'assistant', tool_call_id, {
          type: 'action',
          action_id: tool_call_id,
          name,
          input,
          ...(title === undefined ? {} : { title }),
        })
        break
      }
      case 'tool.result': {
        const { tool_call_id, output, is_error, exit_code, duration_ms } = event.data
        add(event, 'assistant', tool_call_id, {
          type: 'action_result',
          action_id: tool_call_id,
          is_error,
          output: output ?? outputs.get(tool_call_id) ?? '',
          ...(exit_code === undefined ? {} : { exit_code }),
          ...(duration_ms === undefined ? {} : { duration_ms }),
        })
        break
      }
      case 'setup':
      case 'attempt.lost':
      case 'interrupted':
      case 'artifact.created':
      case 'error':
        note(event)
        break
    }
  }
  return { conversation_id, run_ids: [...run_ids], steps }
}
