import { createHash } from 'node:crypto'
import { isRecord } from '../contract/storable-text.ts'
import { shorten } from './cut-text.ts'
import type { Tool, ToolContext, ToolOutcome } from './harness.ts'
import { tame } from './mcp-limits.ts'
import type { ToolDefinition } from './mcp-list.ts'
import { readInputSchema, underOwnNames } from './mcp-schema.ts'
import { refuseMalformed } from './tools/tool.ts'
import { understandInput } from './understand-input.ts'

/** OpenAI takes no request with more, whoever's they are; one more, `load_skill`, may come later. */
const MAX_TOOLS = 128
const MAX_DESCRIPTION = 4096
/** Of one server's tools together: each request to the model holds them. */
const MAX_ALL = 256 * 1024
const MAX_NAME = 64
const TOO_MANY = `there are ${MAX_TOOLS} tools at most, of the agent and all its servers`

export interface OfferedTools {
  tools: Tool[]
  /** Why the others are not offered, one sentence each. */
  left_out: string[]
}

export type CallServer = (
  name: string,
  input: Record<string, unknown>,
  context: ToolContext,
) => Promise<ToolOutcome>

/**
 * A server's tools as ours, named `server__tool`. One that no provider would accept is left out: it would cost the run its
 * model. `taken` holds the names there are, and gets the new ones.
 */
export function offerTools(
  server: string,
  definitions: readonly ToolDefinition[],
  taken: Set<string>,
  call: CallServer,
): OfferedTools {
  const tools: Tool[] = []
  const left_out: string[] = []
  let size = 0
  for (const { name, description, input_schema } of definitions) {
    // Asked first: the schema of one that is not offered need not be worked through.
    const is_full = taken.size >= MAX_TOOLS - 1
    const schema = is_full ? { refusal: TOO_MANY } : readInputSchema(input_schema)
    const described = is_full ? '' : tame(description, MAX_DESCRIPTION)
    const refusal =
      'refusal' in schema
        ? schema.refusal
        : size + schema.size + described.length > MAX_ALL
          ? 'the descriptions of its tools are too long'
          : null
    if (refusal !== null || 'refusal' in schema) {
      left_out.push(`${tame(name, MAX_NAME)}: ${refusal}`)
      continue
    }
    size += schema.size + described.length
    const offered = nameTool(server, name, taken)
    taken.add(offered)
    tools.push({
      name: offered,
      description: described,
      input_schema: schema.schema,
      title: (_input, mask) => shorten(`${server}: ${tame(name, 200)}`, mask),
      run: async (input, context) => {
        const understood = isRecord(input) ? understandInput(input, schema.schema) : {}
        return (
          refuseMalformed(offered, input, schema.schema) ??
          call(name, underOwnNames(understood, schema.renamed), context)
        )
      },
    })
  }
  return { tools, left_out }
}

/** What every provider accepts as a name: letters, digits, `_` and `-`, at most 64, not beginning with a digit. */
export function nameTool(server: string, tool: string, taken: ReadonlySet<string>): string {
  const clean = (text: string) => text.replace(/[^A-Za-z0-9_-]/g, '_')
  const whole = `${clean(server)}__${clean(tool)}`.replace(/^(?=[0-9-])/, '_')
  const mark = createHash('sha256').update(`${server}\0${tool}`).digest('hex').slice(0, 8)
  const fit = (end: string) => `${whole.slice(0, MAX_NAME - end.length)}${end}`
  let name = whole.length > MAX_NAME ? fit(`_${mark}`) : whole
  for (let n = 2; taken.has(name); n += 1) name = fit(`_${n}`)
  return name
}
