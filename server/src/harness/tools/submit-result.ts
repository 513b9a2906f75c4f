import { checkValue, type Schema } from '../../schema/check-schema.ts'
import type { Tool } from '../harness.ts'
import { failure, refuseMalformed } from './tool.ts'

export const SUBMIT_RESULT = 'submit_result'

/**
 * Hands in the result of a run that was asked for with an `output_schema`, and ends it. Providers take objects only as
 * inputs: any other result is wrapped in one.
 */
export function createSubmitResult(schema: Schema, run_id: string): Tool {
  const is_object = schema.type === 'object'
  const unwrap = (input: unknown): unknown =>
    is_object ? input : (input as { result?: unknown } | null)?.result
  const input_schema = is_object ? schema : wrap(schema)
  return {
    name: SUBMIT_RESULT,
    description:
      'Hands in the result of the task, which ends it. Call it once, when everything is done and checked. If it does not fit ' +
      'the schema you are told why: correct it and call it again.',
    input_schema,
    title: () => 'result',
    ends: (input) => ({ state: 'SUCCEEDED', result: unwrap(input) }),
    async run(input) {
      const malformed = refuseMalformed(SUBMIT_RESULT, input, input_schema)
      if (malformed) return malformed
      const result = unwrap(input)
      const wrong = result === undefined ? 'result is missing' : await checkValue(schema, result, run_id)
      return wrong === null
        ? { output: 'The result is handed in.', is_error: false }
        : failure(`The result does not fit its schema:\n${wrong}`)
    },
  }
}

/** What the schema refers to in itself is found from the top of the document. */
function wrap({ $defs, definitions, $schema, ...schema }: Schema): Schema {
  return {
    ...($schema === undefined ? {} : { $schema }),
    ...($defs === undefined ? {} : { $defs }),
    ...(definitions === undefined ? {} : { definitions }),
    type: 'object',
    properties: { result: schema },
    required: ['result'],
    additionalProperties: false,
  }
}
