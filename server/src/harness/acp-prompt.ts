import type { ContentBlock, PromptCapabilities } from '@agentclientprotocol/sdk'
import type { EventData, NewEvent, RunEvent } from '../contract/event.ts'
import { readApprovals } from '../log/approvals.ts'
import { closesMessages } from '../log/interruption.ts'
import { readTranscript } from '../log/transcript.ts'
import { describeResult } from './acp-result.ts'
import { describeDenial } from './approvals.ts'
import { clip } from './cut-text.ts'
import type { Execution, UserMessage } from './harness.ts'
import { writeSkillNotes } from './skill-notes.ts'
import { tellEntries } from './tell-entries.ts'

/** Characters of a transcript, and of what one call printed in it. */
const MAX_TRANSCRIPT = 100_000
const MAX_OUTPUT = 4_000
const MAX_IMAGE_BYTES = 5 * 1024 ** 2

export interface Work {
  /** Messages that wait for the agent, in order. */
  messages: UserMessage[]
  /** Everything before them. */
  before: RunEvent[]
  /** What was done about them already, by an agent that was lost. */
  partial: RunEvent[]
  /** What became of the workspace since the agent last said something. */
  notes: string[]
}

/** What the log leaves to do. `done`: messages up to this sequence were answered, though nothing in the log says so yet. */
export function findWork(history: readonly RunEvent[], done: number): Work {
  const closed = Math.max(done, history.findLast(closesMessages)?.sequence ?? 0)
  const open = history.filter(({ sequence }) => sequence > closed)
  const messages = open.flatMap((event) => messageOf(event, history))
  const first = messages[0]?.sequence ?? Number.POSITIVE_INFINITY
  const notes = open.flatMap((event) =>
    event.type === 'setup' && event.data.workspace ? [event.data.workspace.note] : [],
  )
  return {
    messages,
    before: history.filter(({ sequence }) => sequence < first),
    partial: open.filter(
      ({ type, sequence }) =>
        sequence > first && (type === 'tool.call' || type === 'tool.result' || type === 'message.assistant'),
    ),
    notes,
  }
}

/** What waits for the agent in an event: a message of the user, or what they answered about a call of its. */
function messageOf(event: RunEvent, history: readonly RunEvent[]): UserMessage[] {
  if (event.type === 'message.user') return [event]
  if (event.type !== 'approval.answered') return []
  const { approval_id } = event.data
  const approval = readApprovals(history).find(({ request }) => request.approval_id === approval_id)
  if (!approval?.answer) return []
  const { tool, title } = approval.request
  const call = title === undefined ? tool : `${tool}: ${title}`
  const text =
    approval.answer.decision === 'deny'
      ? `${describeDenial(approval.answer)} (${call}) Go on without it.`
      : `The user allowed your call (${call}). It was not carried out yet: make it again, and go on.`
  return [{ ...event, type: 'message.user', data: { message_id: approval_id, text: service(text) } }]
}

const service = (text: string) => `[From the service, not the user: ${text}]`

/** What an agent is told beside the messages; `fresh`: it knows nothing yet. */
export function introduce(
  {
    run,
    context,
    skill,
    attached_skills,
    workspace_notes = [],
    mask,
  }: Pick<Execution, 'run' | 'context' | 'skill' | 'attached_skills' | 'workspace_notes' | 'mask'>,
  { before, partial, notes }: Omit<Work, 'messages'>,
  fresh: boolean,
): string[] {
  const told: string[] = []
  if (fresh) {
    if (run.config.base_prompt) told.push(run.config.base_prompt)
    told.push(...workspace_notes.map(service))
    // What the repositories say besides agents read themselves.
    told.push(
      ...writeSkillNotes({ ...(skill && { skill }), ...(attached_skills && { attached_skills }), mask }),
    )
    const known = tell([...context, ...before], mask)
    if (known)
      told.push(service(`this was said and done before, and nothing of it is left to do.\n\n${known}`))
  }
  told.push(...notes.map(service))
  if (partial.length > 0)
    told.push(
      service(
        'the work on what follows was begun and then lost with the machine that did it. Calls without a result, or that were interrupted, may have been carried out in part or whole: look before you repeat one. This was said and done:\n\n' +
          tell(partial, mask),
      ),
    )
  return told
}

/** A conversation as text. */
const tell = (log: readonly NewEvent[], mask: Execution['mask']): string =>
  clip(tellEntries(readTranscript(log, MAX_OUTPUT), MAX_OUTPUT, mask), MAX_TRANSCRIPT, mask)

/** Messages of the user as an agent takes them, their images and files with them. */
export async function writeBlocks(
  { sandbox, run }: Pick<Execution, 'sandbox' | 'run'>,
  messages: readonly UserMessage[],
  capabilities: PromptCapabilities | undefined,
): Promise<ContentBlock[]> {
  const blocks: ContentBlock[] = []
  for (const { data } of messages) {
    const { text, attachments = [] } = data
    if (text.trim() !== '' || attachments.length === 0)
      blocks.push({ type: 'text', text: text.trim() ? text : 'Continue.' })
    for (const file of attachments) blocks.push(await writeFile(sandbox, file, capabilities))
  }
  const { output_schema } = run
  if (output_schema && messages.length > 0)
    blocks.push({ type: 'text', text: service(describeResult(output_schema)) })
  return blocks
}

type Attachment = NonNullable<EventData<'message.user'>['attachments']>[number]

async function writeFile(
  sandbox: Execution['sandbox'],
  { file_name, mime_type, path }: Attachment,
  capabilities: PromptCapabilities | undefined,
): Promise<ContentBlock> {
  const place = path.startsWith('/') ? path : `/workspace/${path}`
  const uri = `file://${encodeURI(place)}`
  const is_image = capabilities?.image && /^image\/(png|jpeg|gif|webp)$/.test(mime_type)
  const stat = is_image ? await sandbox.stat(place) : null
  if (stat?.type === 'file' && stat.size <= MAX_IMAGE_BYTES) {
    const data = (await sandbox.readFile(place)).toString('base64')
    return { type: 'image', data, mimeType: mime_type, uri }
  }
  return { type: 'resource_link', name: file_name, uri, mimeType: mime_type }
}
