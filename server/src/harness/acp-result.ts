import { checkValue, type Schema } from '../schema/check-schema.ts'
import { findFencedBlocks } from './fenced-blocks.ts'
import { isTooDeep, TOO_DEEP } from './tool-call.ts'

/** How often an agent is told what is wrong with its result. */
export const MAX_CORRECTIONS = 3

const LANGUAGES = new Set(['json', ''])
const FORM = 'one block, fenced by ```json and ```, and nothing behind it'

/** What an agent is told of the form of its result, behind the user's words. */
export const describeResult = (schema: Schema): string =>
  `the result of this task has a given form. When everything is done, end with a message that holds it as JSON in ${FORM}. It has to fit this JSON Schema:\n\n\`\`\`json\n${JSON.stringify(schema)}\n\`\`\``

export const describeFault = (schema: Schema, wrong: string): string =>
  `the task is not over: your last message holds no result that can be taken. ${wrong}\n\nGo on, or correct it: ${describeResult(schema)}`

/** The result that an agent's last message holds, or what is wrong with it, for the agent. */
export async function readResult(
  schema: Schema,
  said: string,
  run_id: string,
): Promise<{ result: unknown } | { wrong: string }> {
  const json = findJson(said)
  if (json === null) return { wrong: `It has to end with ${FORM}.` }
  let result: unknown
  try {
    result = JSON.parse(json)
  } catch (error) {
    return { wrong: `It is no JSON: ${error instanceof Error ? error.message : String(error)}.` }
  }
  if (isTooDeep(result)) return { wrong: TOO_DEEP }
  const wrong = await checkValue(schema, result, run_id)
  return wrong === null ? { result } : { wrong: `It does not fit its schema:\n${wrong}` }
}

/** The last block, of those that are said to be JSON where there are any; else the whole message, from agents that leave the fence away. */
function findJson(said: string): string | null {
  const found = findFencedBlocks(said, LANGUAGES)
  if ('refused' in found) return null
  const block = found.blocks.findLast(({ language }) => language === 'json') ?? found.blocks.at(-1)
  if (block) return block.content
  const text = said.trim()
  return text === '' ? null : text
}
