import { z } from 'zod'
import { isRecord } from '../contract/storable-text.ts'

/** What of an agent's updates is made use of. Agents send more, and some of it before it is in any release of the protocol. */
const Text = z.object({ type: z.literal('text'), text: z.string() })
/** Pictures, sound and files: their fields are read where they are told. */
const Other = z.looseObject({ type: z.string() })
const Content = z.union([
  z.object({ type: z.literal('content'), content: z.union([Text, Other]) }),
  z.object({ type: z.literal('diff'), path: z.string() }),
  Other,
])
const lenient = <T extends z.ZodType>(type: T) => type.nullish().catch(undefined)

const Call = z.object({
  toolCallId: z.string(),
  title: lenient(z.string()),
  name: lenient(z.string()),
  kind: lenient(z.string()),
  status: lenient(z.enum(['pending', 'in_progress', 'completed', 'failed'])),
  content: lenient(z.array(Content)),
  rawInput: z.unknown().optional(),
  rawOutput: z.unknown().optional(),
  _meta: lenient(z.record(z.string(), z.unknown())),
})
const Chunk = z.object({ content: z.union([Text, Other]), messageId: lenient(z.string()) })

const Update = z.discriminatedUnion('sessionUpdate', [
  Chunk.extend({ sessionUpdate: z.literal('agent_message_chunk') }),
  Chunk.extend({ sessionUpdate: z.literal('agent_thought_chunk') }),
  Call.extend({ sessionUpdate: z.literal('tool_call') }),
  Call.extend({ sessionUpdate: z.literal('tool_call_update') }),
])

export type CallUpdate = z.infer<typeof Call>
export type AgentUpdate = z.infer<typeof Update>

/** `null`: nothing that is made use of, or nothing that can be read. */
export function readUpdate(params: unknown): { session_id: string; update: AgentUpdate } | null {
  const { data } = z.object({ sessionId: z.string(), update: Update }).safeParse(params)
  return data ? { session_id: data.sessionId, update: data.update } : null
}

export function readCall(call: unknown): CallUpdate | null {
  return Call.safeParse(call).data ?? null
}

/** What a call shows of its output: text as it is, other parts as `tell` has them, and which files were changed. */
export function textOf(content: CallUpdate['content'], tell: (part: unknown) => string): string {
  return (content ?? [])
    .flatMap((part) => {
      if (part.type === 'content' && 'content' in part) return [tell(part.content)]
      return 'path' in part && typeof part.path === 'string' ? [`Changed ${part.path}.`] : []
    })
    .join('\n')
}

/** What codex says of a command beside the protocol (`_meta` of its tool calls). */
export const terminalOf = ({ _meta }: CallUpdate, key: string): Record<string, unknown> | null => {
  const told = _meta?.[key]
  return isRecord(told) ? told : null
}

/** What a command printed since the update before, where an agent tells it so. */
export function pieceOf(update: CallUpdate): string {
  const told = terminalOf(update, 'terminal_output_delta') ?? terminalOf(update, 'terminal_output')
  return typeof told?.data === 'string' ? told.data : ''
}
