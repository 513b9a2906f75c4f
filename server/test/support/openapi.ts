import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { ErrorObject } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormatsModule from 'ajv-formats'

const DOCUMENT = new URL('../../../openapi.json', import.meta.url)

export interface OpenApi {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, object> }
}
export interface Operation {
  operationId: string
  parameters?: Array<{ name: string; in: string }>
  responses: Record<string, { content?: Record<string, { schema: object }> }>
}

export const readOpenApi = (): OpenApi => JSON.parse(readFileSync(DOCUMENT, 'utf8')) as OpenApi

/** Checks values against the committed `openapi.json`, by component name, as a strange client would. */
export function createComponentCheck(): (component: string, value: unknown) => void {
  // The document holds keywords of OpenAPI beside those of JSON Schema.
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  // The package is CommonJS: its default export is the module.
  addFormatsModule.default(ajv)
  ajv.addSchema(readOpenApi(), 'openapi.json')
  return (component, value) => {
    const validate = ajv.getSchema(`openapi.json#/components/schemas/${component}`)
    assert(validate, `openapi.json has no component ${component}`)
    const valid = validate(value)
    const describe = ({ instancePath, message }: ErrorObject) => `${instancePath} ${message}`
    assert(valid, `Not a ${component}: ${validate.errors?.map(describe).join('; ')}`)
  }
}
