/** A thread of its own: says what is wrong with a schema, or with a value. */
import { parentPort } from 'node:worker_threads'
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js'
import draft07 from 'ajv/dist/refs/json-schema-draft-07.json' with { type: 'json' }
import addFormats from 'ajv-formats'
import type { SchemaQuestion } from './check-schema.ts'

const MAX_ERRORS = 20

parentPort?.once('message', (question: SchemaQuestion) => parentPort?.postMessage(answer(question)))
parentPort?.postMessage('ready')

function answer({ schema, value }: SchemaQuestion): string | null {
  const ajv = new Ajv2020({ strict: false, allErrors: true, logger: false })
  ajv.addMetaSchema(draft07)
  addFormats.default(ajv)
  let validate: ReturnType<typeof ajv.compile>
  try {
    validate = ajv.compile(schema)
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
  if (!value || validate(value.json)) return null
  const errors = validate.errors ?? []
  const more = errors.length > MAX_ERRORS ? [`and ${errors.length - MAX_ERRORS} more`] : []
  return [...errors.slice(0, MAX_ERRORS).map(describe), ...more].join('\n')
}

function describe({ instancePath, message = 'is not valid', params }: ErrorObject): string {
  const { additionalProperty, allowedValues } = params as {
    additionalProperty?: string
    allowedValues?: unknown[]
  }
  const which = additionalProperty ?? allowedValues?.map((allowed) => JSON.stringify(allowed)).join(', ')
  return `${instancePath || 'the result'} ${message}${which === undefined ? '' : `: ${which}`}`
}
