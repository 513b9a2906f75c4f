import { APIResponseValidationError, RunyardError } from './errors.ts'
import type { RunItem, RunState } from './schemas.ts'

export type JsonSchema = Record<string, unknown>

/**
 * A schema that describes itself as JSON Schema and checks values: what Zod, ArkType and others give
 * (https://standardschema.dev, Standard Schema with Standard JSON Schema).
 */
export interface OutputSchema<T = unknown> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly types?: { readonly input: unknown; readonly output: T } | undefined
    readonly validate: (value: unknown) => Validation<T> | Promise<Validation<T>>
    readonly jsonSchema: { readonly input: (options: { readonly target: 'draft-2020-12' }) => JsonSchema }
  }
}

type Validation<T> =
  | { readonly value: T; readonly issues?: undefined }
  | { readonly issues: readonly Issue[] }

interface Issue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** A run that is waited for no longer: its `result` is typed once it SUCCEEDED. */
export type FinishedRun<T> =
  | (Omit<RunItem, 'state' | 'result'> & { state: 'SUCCEEDED'; result: T })
  | (Omit<RunItem, 'state' | 'result'> & { state: Exclude<RunState, 'SUCCEEDED'>; result?: undefined })

export const isOutputSchema = (schema: JsonSchema | OutputSchema): schema is OutputSchema =>
  '~standard' in schema

/** What the service is sent. */
export function toJsonSchema(schema: JsonSchema | OutputSchema): JsonSchema {
  if (!isOutputSchema(schema)) return schema
  try {
    return schema['~standard'].jsonSchema.input({ target: 'draft-2020-12' })
  } catch (cause) {
    throw new RunyardError('The output_schema does not describe itself as JSON Schema.', { cause })
  }
}

/** The run with its result as the schema reads it; one that does not fit: `APIResponseValidationError`. */
export async function parseResult<T>(run: RunItem, schema: OutputSchema<T>): Promise<FinishedRun<T>> {
  const { state, result: raw, ...rest } = run
  if (state !== 'SUCCEEDED') return { ...rest, state }
  const misfit = (reason: string, options?: ErrorOptions) =>
    new APIResponseValidationError(`The result of run ${run.run_id} ${reason}`, run, options)
  const validate = async () => schema['~standard'].validate(raw)
  const validation = await validate().catch((cause: unknown) => {
    throw misfit('could not be checked by its output schema.', { cause })
  })
  if (validation.issues) {
    const reasons = validation.issues.map(describeIssue).join('; ')
    throw misfit(`is not what its output schema asks for: ${reasons}`)
  }
  return { ...rest, state, result: validation.value }
}

function describeIssue({ message, path = [] }: Issue): string {
  const names = path.map((step) => String(typeof step === 'object' ? step.key : step))
  return names.length ? `${names.join('.')}: ${message}` : message
}
