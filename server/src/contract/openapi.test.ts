import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ErrorBody } from './error.ts'
import { MessageDelta } from './event.ts'
import { buildOpenApi } from './openapi.ts'
import { ROUTES } from './routes.ts'

interface Json {
  [key: string]: Json
}

/** As a reader of the file has it. */
const document: Json = JSON.parse(JSON.stringify(buildOpenApi('1.2.3', [ErrorBody, MessageDelta])))

/** The names the field shares: clients of other services export types called like this. */
const SHARED_NAMES = [
  ...['RunAgentRequest', 'RunAgentResponse', 'ListRunsResponse', 'RunItem', 'PageInfo', 'RunStatusMessage'],
  ...[
    'RunCreatorInfo',
    'RunState',
    'RunSourceType',
    'RunFollowupRequest',
    'AmbientAgentConfig',
    'MCPServerConfig',
    'Error',
  ],
]

test('the components carry the shared model names', () => {
  const names = Object.keys(document.components?.schemas ?? {})
  for (const name of SHARED_NAMES) assert(names.includes(name), `${name} is missing`)
})

test('every reference points to a component that exists, and none is left to zod', () => {
  const text = JSON.stringify(document)
  const targets = [...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, target]) => target ?? '')
  assert(targets.length > 50)
  for (const target of targets) {
    const [, kind, name] = /^#\/components\/(schemas|examples)\/(\w+)$/.exec(target) ?? []
    assert(document.components?.[kind ?? '']?.[name ?? ''], `${target} does not exist`)
  }
})

test('answers are open objects, so that a field can be added within v1', () => {
  assert(!JSON.stringify(document).includes('"additionalProperties":false'))
})

test('every route is described once, with its errors as problem documents', () => {
  for (const [operationId, route] of Object.entries(ROUTES)) {
    const operation = document.paths?.[route.path]?.[route.method.toLowerCase()]
    assert.deepEqual(operation?.operationId, operationId)
    assert(operation?.responses?.[String(route.status)], `${operationId} has no answer`)
    assert(operation?.responses?.['500']?.content?.['application/problem+json'])
  }
})

test('query values have the type they are parsed to', () => {
  const parameters = Object.values(document.paths?.['/agent/runs']?.get?.parameters ?? {})
  const schemaOf = (name: string) => parameters.find((parameter) => String(parameter.name) === name)?.schema
  assert.deepEqual(schemaOf('limit'), { type: 'integer', minimum: 1, maximum: 500 })
  assert.deepEqual(schemaOf('state')?.type, 'array')
})

test('every list takes the same limits', () => {
  const lists = Object.values(ROUTES).flatMap((route) =>
    'pages' in route && 'query' in route && 'limit' in route.query.shape ? [route] : [],
  )
  assert(lists.length > 12)
  for (const { path, query } of lists) {
    const takes = (limit: string) => query.safeParse({ limit }).success
    assert.deepEqual(['0', '1', '500', '501'].map(takes), [false, true, true, false], path)
  }
})
