import { z } from 'zod'
import { ERRORS } from './error.ts'
import type { Example } from './examples/example.ts'
import { EXAMPLES } from './examples/examples.ts'
import { nameProblem, PROBLEM_EXAMPLES } from './examples/problem-examples.ts'
import type { RouteDefinition } from './route.ts'
import { type OperationId, ROUTES } from './routes.ts'

type Json = Record<string, unknown>

const REF = '#/components/schemas/'
const paginated = (items: string) => ({ cursor: 'cursor', next: 'page_info.next_cursor', items })

/** One schema; every named one it uses, itself included, is moved to `components`. */
function toSchema(schema: z.ZodType, io: 'input' | 'output', components: Json): Json {
  const json = z.toJSONSchema(schema, {
    io,
    target: 'draft-2020-12',
    unrepresentable: 'any',
    reused: 'inline',
  })
  const { $schema: _, $defs = {}, id, ...own } = json
  for (const [name, { id: _, ...definition }] of Object.entries($defs)) components[name] = tidy(definition)
  const tidied = tidy(own)
  if (typeof id !== 'string') return tidied as Json
  components[id] = tidied
  return { $ref: `${REF}${id}` }
}

/** Generators name what has no name by its place among others (`…Type0`); this is what stands beside `null`, or beside a text. */
function nameVariants(name: string, value: unknown): unknown {
  if (!isObject(value) || !Array.isArray(value.anyOf)) return value
  const named = (member: unknown) =>
    isObject(member) && (member.type === 'object' || member.type === 'array' || member.enum !== undefined)
  const { length } = value.anyOf.filter(named)
  if (length !== 1) return value
  const title = name.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())
  return {
    ...value,
    anyOf: value.anyOf.map((member: unknown) => (named(member) ? { title, ...Object(member) } : member)),
  }
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * References point to `components`; objects stay open, since answers may gain fields within v1; the bounds zod gives
 * every integer are left out.
 */
function tidy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(tidy)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(
    ([key, inner]) =>
      !(key === 'additionalProperties' && inner === false) &&
      !(key === 'minimum' && inner === Number.MIN_SAFE_INTEGER) &&
      !(key === 'maximum' && inner === Number.MAX_SAFE_INTEGER),
  )
  return Object.fromEntries(
    entries.map(([key, inner]) => [
      key,
      key === '$ref' && typeof inner === 'string'
        ? inner.replace('#/$defs/', REF)
        : key === 'properties' && isObject(inner)
          ? Object.fromEntries(
              Object.entries(inner).map(([name, each]) => [name, nameVariants(name, tidy(each))]),
            )
          : tidy(inner),
    ]),
  )
}

function parametersOf(
  shape: z.ZodObject | undefined,
  place: 'path' | 'query',
  example: Example,
  components: Json,
): Json[] {
  if (!shape) return []
  const values: Json = example[place] ?? {}
  return Object.entries(shape.shape).map(([name, field]) => {
    // Query values arrive as strings; what they are parsed to says more to a reader.
    const { description, ...schema } = toSchema(field as z.ZodType, 'output', components)
    const isMap = schema.type === 'object'
    return {
      name,
      in: place,
      required: place === 'path' || !(field as z.ZodType).safeParse(undefined).success,
      ...(description ? { description } : {}),
      ...(isMap ? { style: 'deepObject', explode: true } : {}),
      schema,
      ...exampleOf(values[name]),
    }
  })
}

const exampleOf = (value: unknown): Json => (value === undefined ? {} : { example: value })

function answersOf(route: RouteDefinition, { answer }: Example, components: Json): Json {
  const success: Json = {
    description: route.status === 302 ? 'Redirect to a signed link.' : 'Success.',
    ...linksOf(route),
  }
  if (route.status === 302) success.headers = { Location: { schema: { type: 'string' } } }
  if (route.response || route.streams) {
    success.content = {
      ...(route.response
        ? {
            'application/json': {
              schema: toSchema(route.response, 'output', components),
              ...exampleOf(answer),
            },
          }
        : {}),
      ...(route.streams ? { 'text/event-stream': { schema: { type: 'string' } } } : {}),
    }
  }
  const failures = failuresOf(route).map(({ status, description }) => [
    status,
    { description, content: { 'application/problem+json': problemOf(status) } },
  ])
  const over = route.streams
    ? {
        204: {
          description:
            'Of a stream: `Last-Event-ID` is the last there will be. An `EventSource` stops at this.',
        },
      }
    : {}
  return { [route.status]: success, ...over, ...Object.fromEntries(failures) }
}

const problemOf = (status: number): Json => ({
  schema: { $ref: `${REF}Error` },
  examples: { problem: { $ref: `#/components/examples/${nameProblem(status)}` } },
})

/** What any operation of this kind may answer besides what its route names. */
function failuresOf(route: RouteDefinition): Array<{ status: number; description: string }> {
  const byStatus = new Map<number, string[]>()
  const add = (status: number, what: string) => {
    const before = byStatus.get(status) ?? []
    if (!before.includes(what)) byStatus.set(status, [...before, what])
  }
  for (const code of ['invalid_request', ...route.errors, 'internal_error'] as const)
    add(ERRORS[code].status, `\`${code}\``)
  if (route.body) {
    add(413, 'The body is too large.')
    add(415, 'The body is not `application/json`.')
  }
  if (route.params) add(414, 'A part of the path is too long.')
  if (route.method === 'POST') add(422, 'This `Idempotency-Key` was used with another body.')
  if (!route.is_public) add(429, 'Too many requests with a bad key, or too many open streams.')
  add(431, 'The address or the headers are too large.')
  return [...byStatus]
    .sort(([a], [b]) => a - b)
    .map(([status, whats]) => ({ status, description: whats.join(', ') }))
}

/** What can be done with what this route has made, by the id in its answer. */
function linksOf({ path, target }: RouteDefinition): Json {
  if (target?.param === undefined) return {}
  const { param, field } = target
  const own = `${path}/{${param}}`
  const links = Object.entries(ROUTES as Record<string, RouteDefinition>)
    .filter(([, route]) => route.path === own || route.path.startsWith(`${own}/`))
    .filter(([, route]) => Object.keys(route.params?.shape ?? {}).length === 1)
    .map(([operationId]) => [
      operationId,
      { operationId, parameters: { [param]: `$response.body#/${field}` } },
    ])
  return links.length > 0 ? { links: Object.fromEntries(links) } : {}
}

function operationOf(operationId: OperationId, route: RouteDefinition, components: Json): Json {
  const example = EXAMPLES[operationId]
  const idempotency = {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description: '1 to 255 characters. The same key and body within 24 hours returns the first answer again.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
  }
  const parameters = [
    ...parametersOf(route.params, 'path', example, components),
    ...parametersOf(route.query, 'query', example, components),
    ...(route.method === 'POST' ? [idempotency] : []),
  ]
  return {
    operationId,
    summary: route.summary,
    ...(route.description ? { description: route.description } : {}),
    tags: [route.tag],
    ...(route.is_public ? { security: [] } : {}),
    ...(parameters.length ? { parameters } : {}),
    ...(route.body
      ? {
          requestBody: {
            required: !route.body.safeParse(undefined).success,
            content: {
              'application/json': {
                schema: toSchema(route.body, 'input', components),
                ...exampleOf(example.body),
              },
            },
          },
        }
      : {}),
    responses: answersOf(route, example, components),
    ...(example.client ? { 'x-client-method': example.client } : {}),
    ...(route.pages ? { 'x-pagination': paginated(route.pages) } : {}),
  }
}

/** The whole API as OpenAPI 3.1. `named` are schemas that no route reaches but that clients want by name. */
export function buildOpenApi(version: string, named: z.ZodType[]): Json {
  const components: Json = {}
  for (const schema of named) toSchema(schema, 'output', components)
  const paths: Record<string, Json> = {}
  for (const [operationId, route] of Object.entries(ROUTES) as [OperationId, RouteDefinition][]) {
    const operation = operationOf(operationId, route, components)
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operation }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Runyard',
      version,
      description: 'Runs coding agents in sandboxes on request: create, list, watch, steer and stop runs.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/api/v1' }],
    security: [{ api_key: [] }],
    tags: [
      'Runs',
      'Schedules',
      'Triggers',
      'Environments',
      'Secrets',
      'Skills',
      'Models',
      'Artifacts',
      'Webhooks',
      'Access',
      'Networking',
      'Workers',
    ].map((name) => ({
      name,
    })),
    paths,
    components: {
      examples: PROBLEM_EXAMPLES,
      schemas: Object.fromEntries(Object.entries(components).sort(([a], [b]) => (a < b ? -1 : 1))),
      securitySchemes: { api_key: { type: 'http', scheme: 'bearer', description: 'An API key, `ry_…`.' } },
    },
  }
}
