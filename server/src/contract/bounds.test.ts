/** Everything that a caller sends has an end: lists, records and texts of the whole contract have a limit each. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertBrief } from '../../test/support/loop-guard.ts'
import { EnvironmentRequest } from './environment.ts'
import { buildOpenApi } from './openapi.ts'
import { RunAgentRequest } from './run-request.ts'
import { isRecord } from './storable-text.ts'

const BOUNDS: Record<string, readonly string[]> = {
  // A pattern of ours has an end of its own, and so has what has a format; a time, say.
  string: ['maxLength', 'enum', 'const', 'pattern', 'format'],
  array: ['maxItems'],
  object: ['properties', 'maxProperties'],
}

test('each list, record and text of every body has a limit', () => {
  const document = buildOpenApi('0', [])
  const at = (value: unknown, name: string): unknown => (isRecord(value) ? value[name] : undefined)
  const schemas = at(at(document, 'components'), 'schemas')
  const seen = new Set<string>()
  const unbounded: string[] = []
  const walk = (schema: unknown, path: string): void => {
    if (Array.isArray(schema)) for (const one of schema) walk(one, path)
    if (!isRecord(schema)) return
    if (typeof schema.$ref === 'string') {
      const name = schema.$ref.split('/').at(-1) ?? ''
      if (!seen.has(name)) walk(at(schemas, name), name)
      seen.add(name)
      return
    }
    for (const type of [schema.type].flat())
      if (typeof type === 'string' && BOUNDS[type]?.every((bound) => !(bound in schema)))
        unbounded.push(`${path}: ${type}`)
    for (const [name, field] of Object.entries(schema.properties ?? {})) walk(field, `${path}.${name}`)
    for (const name of ['items', 'additionalProperties', 'propertyNames', 'anyOf', 'oneOf', 'allOf'])
      walk(schema[name], `${path}.${name}`)
  }
  for (const [path, operations] of Object.entries(document.paths ?? {}))
    for (const [method, operation] of Object.entries(operations ?? {}))
      walk(
        at(at(at(at(operation, 'requestBody'), 'content'), 'application/json'), 'schema'),
        `${method} ${path}`,
      )
  assert(seen.size > 20)
  assert.deepEqual(unbounded, [])
})

test('tens of thousands of fields are counted before they are checked', () => {
  const many = Object.fromEntries(Array.from({ length: 49_000 }, (_, at) => [`V ${at}`, 7]))
  const refusals = assertBrief(() =>
    [
      EnvironmentRequest.safeParse({ name: 'x', variables: many }),
      RunAgentRequest.safeParse({ prompt: 'x', metadata: many }),
      RunAgentRequest.safeParse({ prompt: 'x', output_schema: many }),
      RunAgentRequest.safeParse({ prompt: 'x', config: { mcp_servers: many } }),
      RunAgentRequest.safeParse({ prompt: 'x', config: { mcp_servers: { a: { command: 'x', env: many } } } }),
    ].map(({ error }) => error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)),
  )
  assert.deepEqual(refusals, [
    ['variables: must be at most 1,000 variables'],
    ['metadata: at most 20 keys'],
    ['output_schema: must be at most 1,000 fields'],
    ['config.mcp_servers: must be at most 50 tool servers'],
    ['config.mcp_servers.a.env: must be at most 256 variables'],
  ])
})
