import { askThread, NoAnswer } from './ask-thread.ts'

export type Schema = Record<string, unknown>

/** What the thread is asked: whether this is a schema, or whether the value satisfies it. */
export interface SchemaQuestion {
  schema: Schema
  value?: { json: unknown }
}

const THREAD = new URL('./schema-thread.ts', import.meta.url)

/** Why this is no JSON Schema that can be used here; `null` when it is one. References to other documents are not followed. */
export const checkSchema = (schema: Schema): Promise<string | null> => ask({ schema })

/** What is wrong with the value, a line each; `null` when it satisfies the schema. */
export const checkValue = (schema: Schema, json: unknown): Promise<string | null> =>
  ask({ schema, value: { json } })

/** A pattern, or a schema that refers to itself, can take for ever: then that is what is wrong. */
const ask = (question: SchemaQuestion): Promise<string | null> =>
  askThread<string | null>(THREAD, question).catch((error: unknown) => {
    if (error instanceof NoAnswer) return error.message
    throw error
  })
