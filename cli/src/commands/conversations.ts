import {
  type Conversation,
  type ConversationChild,
  type ConversationStep,
  NotFoundError,
  type RunEvent,
  type Runyard,
} from '@runyard/client'
import type { Command } from 'commander'
import { saveBytes } from '../download.ts'
import { CommandFailure } from '../failure.ts'
import { oneLine } from '../one-line.ts'
import type { Output } from '../output.ts'
import { paintState } from '../run-text.ts'
import { RunView } from '../run-view.ts'
import { addClientOptions, type ClientOptions, openSession } from '../session.ts'

type Message = ConversationStep['messages'][number]

interface TranscriptOptions extends ClientOptions {
  file: string
  force?: boolean
}

/** `conversation`, `transcript`: what was said and done, for reading and for programs. */
export function addConversationCommands(program: Command): void {
  addClientOptions(
    program
      .command('conversation <run-id>')
      .summary('print what was said and done')
      .description(
        'Prints the conversation that a run belongs to, over all its runs, with whole outputs; a conversation is also found by its own id. -o ndjson prints a step a line.',
      ),
  ).action(async (id: string, options: ClientOptions) => {
    const { client, output } = openSession(options)
    const { first, steps } = await findConversation(client, id)
    if (output.format === 'json')
      return output.json({ ...first, steps: await Array.fromAsync(steps), page_info: undefined })
    const view = new RunView({ ...output, terminal: false }, { full: true })
    for await (const step of steps) {
      if (output.format === 'ndjson') output.json(step)
      else for (const message of step.messages) for (const event of eventsOf(message)) view.show(event)
    }
    if (output.format === 'text') for (const child of first.children ?? []) printBelow(child, output)
  })

  addClientOptions(
    program
      .command('transcript <run-id>')
      .summary('download the log of a run')
      .description('Downloads the whole log of a run as it is stored: JSON Lines, an event a line.')
      .option('-f, --file <file>', 'where to; - for standard output', '-')
      .option('--force', 'replace a file that is there'),
  ).action(async (run_id: string, { file, force = false, ...options }: TranscriptOptions) => {
    const { client, output } = openSession(options)
    const path = `/agent/runs/${run_id}/transcript`
    const open = async (): Promise<AsyncIterable<Uint8Array>> => {
      const { body } = await client.get(path, { headers: { accept: '*/*' } }).asResponse()
      if (!body) throw new CommandFailure('The server sent no transcript.')
      return body
    }
    await saveBytes(open, file, { force, output })
    if (file === '-') return
    if (output.format === 'text') output.line(file)
    else output.json({ run_id, file })
  })
}

/** The first page, which says what it is of, and all steps. */
async function findConversation(
  client: Runyard,
  id: string,
): Promise<{ first: Conversation; steps: AsyncIterable<ConversationStep> }> {
  const [ofRun, own] = [client.runs.conversation(id), client.conversations.retrieve(id)]
  try {
    return { first: await ofRun, steps: ofRun }
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error
    return { first: await own, steps: own }
  }
}

/** A message as the events that it was made from, as far as they are shown. */
function eventsOf({ message_id, run_id, role, created_at, blocks }: Message): RunEvent[] {
  const event = (type: string, data: object): RunEvent =>
    ({ sequence: 0, run_id, type, occurred_at: created_at, data }) as RunEvent
  return blocks.flatMap((block) => {
    switch (block.type) {
      case 'text':
        return event(role === 'user' ? 'message.user' : 'message.assistant', { message_id, text: block.text })
      case 'reasoning':
        return event('reasoning', { text: block.text })
      case 'action':
        return event('tool.call', { ...block, tool_call_id: block.action_id })
      case 'action_result': {
        const { action_id: tool_call_id, output, ...result } = block
        const ended = event('tool.result', { tool_call_id, ...result })
        return output ? [event('tool.output', { tool_call_id, text: output }), ended] : ended
      }
      case 'event':
        return event(block.event_type, block.data)
      default:
        return []
    }
  })
}

/** Runs below those of the conversation, each of which has one of its own. */
function printBelow({ run_id, state, title, children = [] }: ConversationChild, output: Output): void {
  output.line(`${oneLine(run_id)}  ${paintState(oneLine(state), output.colors)}  ${oneLine(title)}`)
  for (const child of children) printBelow(child, output)
}
