import {
  type Conversation,
  type ConversationMessage,
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
    const below: ConversationStep[] = []
    for await (const step of steps) {
      if (output.format === 'ndjson') output.json(step)
      else for (const message of step.messages) for (const event of eventsOf(message)) view.show(event)
      below.push(...step.steps)
    }
    if (output.format === 'text') for (const step of below) printBelow(step, output)
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
function eventsOf({
  message_ids: [id = ''],
  run_id,
  role,
  timestamp,
  content,
}: ConversationMessage): RunEvent[] {
  const event = (type: string, data: object): RunEvent =>
    ({ sequence: 0, run_id, type, occurred_at: timestamp, data }) as RunEvent
  return content.flatMap((block) => {
    switch (block.type) {
      case 'text':
        return event(role === 'user' ? 'message.user' : 'message.assistant', {
          message_id: block.message_id ?? id,
          text: block.text,
        })
      case 'action':
        return event('tool.call', { ...block, tool_call_id: block.id })
      case 'action_result': {
        const { action_id: tool_call_id, state } = block
        const { text, exit_code, duration_ms } = block.output
        const is_error = state === 'failed' || state === 'denied'
        const ended = event('tool.result', { tool_call_id, is_error, exit_code, duration_ms })
        return [
          ...(text ? [event('tool.output', { tool_call_id, text })] : []),
          ...(state === 'running' ? [] : [ended]),
        ]
      }
      case 'event':
        return event(block.name, block.data)
      default:
        return []
    }
  })
}

/** Runs below those of the conversation, each of which has a conversation of its own. */
function printBelow({ run, description = '', steps }: ConversationStep, output: Output): void {
  if (run) {
    const state = paintState(oneLine(run.state), output.colors)
    output.line(`${output.id(run.run_id)}  ${state}  ${oneLine(description)}`)
  }
  for (const step of steps) printBelow(step, output)
}
