import { posix } from 'node:path'
import { z } from 'zod'
import { isRecord } from '../../contract/storable-text.ts'
import { SandboxFileError } from '../../sandbox/sandbox.ts'
import { type MaskText, shorten } from '../cut-text.ts'
import type { Outcome, Tool, ToolContext, ToolOutcome, Turn } from '../harness.ts'
import { explainMalformed, understandInput } from '../understand-input.ts'

interface ToolDefinition<Input> {
  name: string
  description: string
  input: z.ZodType<Input>
  needs?: Tool['needs']
  repeatable?: boolean
  title: (input: Input) => string
  /** How the turn ends once a call has gone well; absent where it goes on. */
  ends?: (input: Input) => Outcome
  run: (input: Input, context: ToolContext) => Promise<ToolOutcome>
}

export function defineTool<Input>({
  name,
  description,
  input: schema,
  needs,
  repeatable = false,
  title,
  ends,
  run,
}: ToolDefinition<Input>): Tool {
  const input_schema: Record<string, unknown> = z.toJSONSchema(schema, { io: 'input' })
  const read = (input: unknown) =>
    schema.safeParse(isRecord(input) ? understandInput(input, input_schema) : input)
  return {
    name,
    description,
    input_schema,
    ...(needs && { needs }),
    repeatable,
    title(input, mask) {
      const parsed = read(input)
      return parsed.success ? shorten(title(parsed.data), mask) : undefined
    },
    ...(ends && {
      ends(input: unknown) {
        const parsed = read(input)
        return parsed.success ? ends(parsed.data) : null
      },
    }),
    async run(input, context) {
      const parsed = read(input)
      const malformed = refuseMalformed(name, input, input_schema)
      if (malformed) return malformed
      if (!parsed.success)
        return failure(
          `The input of ${name} is not valid:\n${z.prettifyError(parsed.error)}${nameFields(input, input_schema, context.turn.mask)}`,
        )
      try {
        return await run(parsed.data, context)
      } catch (error) {
        if (error instanceof SandboxFileError) return failure(describe(error))
        throw error
      }
    },
  }
}

/** For models that know a tool of this kind by the names of another agent's. */
function nameFields(input: unknown, { properties }: Tool['input_schema'], mask: MaskText): string {
  if (!isRecord(input) || !isRecord(properties)) return ''
  const unknown = Object.keys(input).filter((field) => !Object.hasOwn(properties, field))
  if (unknown.length === 0) return ''
  return `\nThere is no ${shorten(unknown.join(', '), mask)}; the fields are ${Object.keys(properties).join(', ')}.`
}

/** The answer to a call whose arguments are no JSON object; `null` where they are. */
export function refuseMalformed(
  name: string,
  input: unknown,
  schema: Tool['input_schema'],
): ToolOutcome | null {
  const problem = explainMalformed(input, schema)
  return problem === null
    ? null
    : failure(`The call was not made: the arguments of ${name} are not valid JSON: ${problem}.`)
}

/** Some begin with their code. */
const describe = ({ code, message }: SandboxFileError): string =>
  message.startsWith(code) ? message : `${code}: ${message}`

export const failure = (output: string): ToolOutcome => ({ output, is_error: true })

/** Relative paths start where commands do. */
export const resolvePath = (turn: Turn, path: string): string => posix.resolve(turn.run.cwd, path)

/** A name may hold anything but a slash; one of several lines would look like several names. */
export const showName = (name: string): string => (/\p{Cc}/u.test(name) ? JSON.stringify(name) : name)

/** A pipe, a socket or a device: who reads it may wait for ever. */
export const isOdd = (path: string): ToolOutcome => failure(`${path} is neither a file nor a directory.`)
