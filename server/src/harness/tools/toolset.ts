import { jsonSchema, type ToolSet } from 'ai'
import { bash } from './bash.ts'
import { edit } from './edit.ts'
import { read } from './read.ts'
import type { Tool } from './tool.ts'
import { write } from './write.ts'

/** What the built-in loop's model can do. */
export const TOOLS: ReadonlyMap<string, Tool> = new Map(
  [bash, read, write, edit].map((tool) => [tool.name, tool]),
)

/** The tools as a request describes them: without execution, and with validation left to `Tool.run`. */
export const TOOL_SCHEMAS: ToolSet = Object.fromEntries(
  [...TOOLS.values()].map(({ name, description, input_schema }) => [
    name,
    { description, inputSchema: jsonSchema(input_schema) },
  ]),
)
