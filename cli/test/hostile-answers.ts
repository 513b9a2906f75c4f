import { readFileSync } from 'node:fs'

/** The parts of JSON Schema that `openapi.json` uses. */
interface Schema {
  $ref?: string
  type?: string
  enum?: string[]
  const?: string
  format?: string
  properties?: Record<string, Schema>
  additionalProperties?: Schema | boolean
  items?: Schema
  oneOf?: Schema[]
  anyOf?: Schema[]
  allOf?: Schema[]
}
interface Operation {
  operationId: string
  responses: Record<string, { content?: Record<string, { schema: Schema }> }>
}

const document = JSON.parse(readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8')) as {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}

/** What a line must never begin with: text from elsewhere that passes for one of the command's own lines. */
export const FORGED = 'forged-line'
/** Writes the clipboard, sets the title, clears, hides, recolours, overwrites, turns the text around, adds a line. */
export const attack = (name: string): string =>
  [
    '\u001b]52;c;ZXZpbA==\u0007',
    '\u001b]0;title\u001b\\',
    '\u001b[2J\u001b[8m\u001b[35m\u001b[1;31;7m',
    '\u001bP1$r\u001b\\\u001bc',
    '\u009b31m\u009d52;c;eA==\u009c',
    '\u202e\u2066\u200f',
    '\rover\r',
    '\u0000\b\u007f\u0085',
    name,
    `\n${FORGED}`,
    '\u001b]52;c;',
  ].join('·')

/** Of lists in lists, how many are filled. */
const MOST_LISTS = 5

export interface Sampling {
  /** Texts that have to be one of a few, and times, are hostile too. */
  wild: boolean
  /** Of each schema by its name, what these properties hold instead. */
  fixed?: Record<string, Record<string, unknown>>
}

/** A value of this schema with an attack in each text. Of alternatives, all where there is a list, else the first. */
export function sample(schema: Schema, sampling: Sampling, path = '', name = ''): unknown {
  const down = (inner: Schema, at: string, of = ''): unknown => sample(inner, sampling, at, of)
  if (schema.$ref) {
    const target = schema.$ref.split('/').at(-1) ?? ''
    return down(schemaOf(target), path || target, target)
  }
  const [first] = alternatives(schema)
  if (first && first !== schema) return down(first, path)
  const single = schema.const ?? (schema.enum?.length === 1 ? schema.enum[0] : undefined)
  if (single !== undefined) return single
  if (schema.enum) return sampling.wild ? attack(path) : schema.enum.at(-1)
  switch (schema.type) {
    case 'object':
      return {
        ...Object.fromEntries(
          Object.entries(schema.properties ?? {}).map(([key, each]) => [key, down(each, `${path}.${key}`)]),
        ),
        ...(schema.additionalProperties || !schema.properties
          ? { [attack(`${path}.key`)]: attack(path) }
          : {}),
        ...sampling.fixed?.[name],
      }
    case 'array':
      // A schema may hold itself.
      if (path.split('[').length > MOST_LISTS) return []
      return alternatives(resolve(schema.items ?? {})).map((each, at) => down(each, `${path}[${at}]`))
    case 'integer':
    case 'number':
      return 3
    case 'boolean':
      return true
    case 'string':
      return schema.format === 'date-time' && !sampling.wild ? '2026-01-01T00:00:00.000Z' : attack(path)
    default:
      return { [attack(`${path}.any`)]: [attack(path)] }
  }
}

/** One of each kind of event, and text on its way. */
export const sampleEvents = (sampling: Sampling): Array<Record<string, unknown>> =>
  alternatives(schemaOf('RunEvent')).map(
    (each, at) => ({ ...(sample(each, sampling) as object), sequence: at + 1 }) as Record<string, unknown>,
  )

/** The schema of a successful answer; undefined when there is no such operation. */
export function answerSchema(method: string, path: string): Schema | undefined {
  const responses = findOperation(method, path)?.responses ?? {}
  const content = Object.entries(responses).find(([status]) => status.startsWith('2'))?.[1].content
  return content?.['application/json']?.schema
}

export function findOperation(method: string, path: string): Operation | undefined {
  for (const [template, operations] of Object.entries(document.paths)) {
    const pattern = new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`)
    const operation = operations[method.toLowerCase()]
    // `/agent/runs/delete` looks like a run as well, to which nothing is posted.
    if (operation && pattern.test(path)) return operation
  }
  return undefined
}

export const OPERATIONS: readonly string[] = Object.values(document.paths).flatMap((operations) =>
  Object.values(operations).map(({ operationId }) => operationId),
)

export const schemaOf = (name: string): Schema => {
  const schema = document.components.schemas[name]
  if (!schema) throw new Error(`openapi.json has no schema ${name}.`)
  return schema
}

const resolve = (schema: Schema): Schema =>
  schema.$ref ? schemaOf(schema.$ref.split('/').at(-1) ?? '') : schema
const alternatives = (schema: Schema): Schema[] => schema.oneOf ?? schema.anyOf ?? schema.allOf ?? [schema]
