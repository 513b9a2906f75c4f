/**
 * The contract as the Python models are generated from it. A client reads leniently, so limits are left to the service,
 * enums take any string, and each union by a tag ends in an `Unknown…` for kinds of a newer service. Inline objects get
 * names by their place (`RunItem.schedule` is `RunItemSchedule`), so that a new one never renames another.
 */
type Schema = {
  $ref?: string
  type?: string | string[]
  format?: string
  description?: string
  const?: string
  enum?: string[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  additionalProperties?: boolean | Schema
  anyOf?: Schema[]
  oneOf?: Schema[]
}

const PREFIX = '#/components/schemas/'
/** `Error` in Python is close to the built-in exceptions, and is none. */
const RENAMED: Record<string, string> = { Error: 'ProblemDetails' }
const MEANING = ['$ref', 'type', 'const', 'required', 'description', 'deprecated']

export function pythonDocument(contract: string): object {
  const { schemas } = (JSON.parse(contract) as { components: { schemas: Record<string, Schema> } }).components
  const named: Record<string, Schema> = {}

  for (const [key, schema] of Object.entries(schemas)) {
    const name = RENAMED[key] ?? key
    named[name] = simplify(schema, name)
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Runyard', version: '1' },
    paths: {},
    components: {
      schemas: Object.fromEntries(Object.entries(named).sort(([a], [b]) => (a < b ? -1 : 1))),
    },
  }

  function simplify(schema: Schema, name: string): Schema {
    if (schema.$ref !== undefined) return { $ref: PREFIX + nameOf(schema.$ref) }
    const simple: Schema = Object.fromEntries(Object.entries(schema).filter(([key]) => MEANING.includes(key)))
    if (schema.format === 'date-time') simple.format = 'date-time'
    if (schema.enum) {
      delete simple.type
      simple.anyOf = [{ type: 'string', enum: schema.enum }, { type: 'string' }]
    }
    if (schema.properties)
      simple.properties = Object.fromEntries(
        Object.entries(schema.properties).map(([key, value]) => [key, place(value, name + pascal(key))]),
      )
    if (schema.items) simple.items = place(schema.items, name.replace(/s$/, ''))
    if (typeof schema.additionalProperties === 'object')
      simple.additionalProperties = place(schema.additionalProperties, name.replace(/s$/, ''))
    if (schema.anyOf) Object.assign(simple, nullable(schema.anyOf.map((variant) => place(variant, name))))
    if (schema.oneOf) simple.anyOf = tagged(schema.oneOf, name)
    return simple
  }

  /** What has a shape of its own becomes a component. */
  function place(schema: Schema, name: string): Schema {
    const simple = simplify(schema, name)
    if (!schema.oneOf && !schema.properties) return simple
    if (name in named || name in schemas) throw new Error(`Two schemas would be called ${name} in Python`)
    named[name] = simple
    return { $ref: PREFIX + name }
  }

  function tagged(variants: Schema[], name: string): Schema[] {
    const shapes = variants.map((variant) =>
      variant.$ref === undefined ? variant : (schemas[variant.$ref.slice(PREFIX.length)] ?? {}),
    )
    const first = shapes[0]?.properties ?? {}
    const tag = Object.keys(first).find((key) => first[key]?.const !== undefined)
    if (tag === undefined) throw new Error(`The union ${name} has no tag`)
    const shared = Object.keys(first).filter((key) => shapes.every((shape) => shape.required?.includes(key)))
    const unknown = `Unknown${name.replace(/^Run/, '')}`
    named[unknown] = {
      type: 'object',
      description: 'What a newer service sends and this version does not know, as it came.',
      properties: Object.fromEntries(
        shared.map((key) => [key, key === tag ? { type: 'string' } : open(first[key] ?? {}, name)]),
      ),
      required: shared,
    }
    const known = variants.map((variant, index) =>
      place(variant, name + pascal(shapes[index]?.properties?.[tag]?.const ?? '')),
    )
    return [...known, { $ref: PREFIX + unknown }]
  }

  function open(schema: Schema, name: string): Schema {
    const isObject = schema.$ref !== undefined || schema.properties !== undefined
    return isObject ? { type: 'object', additionalProperties: {} } : simplify(schema, name)
  }
}

function nullable(variants: Schema[]): Schema {
  const [value, none, ...more] = variants
  if (value === undefined || none?.type !== 'null' || more.length > 0 || value.type === undefined)
    return { anyOf: variants }
  return { ...value, type: [`${value.type}`, 'null'] }
}

function nameOf(ref: string): string {
  const name = ref.slice(PREFIX.length)
  return RENAMED[name] ?? name
}

function pascal(text: string): string {
  return text
    .split(/[_.]/)
    .map(
      (word) =>
        word.charAt(0).toUpperCase() +
        (word === word.toUpperCase() ? word.slice(1).toLowerCase() : word.slice(1)),
    )
    .join('')
}
