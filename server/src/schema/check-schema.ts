import { askThread, NoAnswer } from './ask-thread.ts'
import { type Computation, computations } from './computations.ts'
import { measureJson } from './json-size.ts'

export type Schema = Record<string, unknown>

/** What the thread is asked: whether this is a schema, or whether the value satisfies it. */
export interface SchemaQuestion {
  schema: Schema
  value?: { json: unknown }
}

const THREAD = new URL('./schema-thread.ts', import.meta.url)

/** Compiling a schema takes many times its size, and every check of a result compiles it again. */
export const SCHEMA_LIMITS = { bytes: 128 * 1024, depth: 50, objects: 2_000 }

/**
 * Why this is no JSON Schema that can be used here; `null` when it is one. References to other documents are not followed.
 * `owner`: the principal whose request it is. Throws 429 `resource_unavailable` if too many checks are waiting.
 */
export async function checkSchema(schema: Schema, owner: string): Promise<string | null> {
  // No thread is started for a schema that is too large.
  const { bytes, depth, objects } = measureJson(schema, SCHEMA_LIMITS)
  if (bytes > SCHEMA_LIMITS.bytes)
    return `It is larger than ${SCHEMA_LIMITS.bytes / 1024} KiB. Make it smaller.`
  if (depth > SCHEMA_LIMITS.depth)
    return `It is nested more than ${SCHEMA_LIMITS.depth} levels deep. Move inner schemas to $defs.`
  if (objects > SCHEMA_LIMITS.objects)
    return `It has more than ${SCHEMA_LIMITS.objects} objects. Use fewer subschemas, or share them by $ref.`
  return ask({ schema }, { owner, bytes })
}

/** What is wrong with a run's result, a line each; `null` when it satisfies the schema. A run asks once at a time. */
export const checkValue = (schema: Schema, json: unknown, run_id: string): Promise<string | null> =>
  ask(
    { schema, value: { json } },
    { owner: run_id, bytes: measureJson([schema, json]).bytes, is_bounded: true },
  )

/** A pattern, or a schema that refers to itself, can take for ever: then that is what is wrong. */
const ask = (question: SchemaQuestion, computation: Computation): Promise<string | null> =>
  computations
    .run(computation, () => askThread<string | null>(THREAD, question))
    .catch((error: unknown) => {
      if (error instanceof NoAnswer) return error.message
      throw error
    })
