import { Ajv2020 } from 'ajv/dist/2020.js'
import { decodePercent } from '../contract/percent.ts'
import { isRecord } from '../contract/storable-text.ts'
import { measureJson } from './mcp-limits.ts'

const MAX_SCHEMA = 32 * 1024
const MAX_DEPTH = 32
/** Schemas within schemas; each takes two or three of `MAX_DEPTH`. */
const MAX_LEVELS = 10
/** Schemas that one may have after its references are written out: the first that fits. */
const BUDGETS = [2000, 300, 60]

type Schema = Record<string, unknown>

export interface InputSchema {
  schema: Schema
  size: number
  /** Names of the model's arguments that the server knows by other names. */
  renamed: ReadonlyMap<string, string>
}

/**
 * A schema of a tool's input as every provider takes it: JSON Schema 2020-12 of an object, without references and without
 * alternatives at the top (OpenAI, Anthropic), whose properties have plain names (Anthropic). Servers write all drafts and OpenAPI,
 * and `null` for what they leave out. What is lost is checked by the server itself; a refused schema would cost the run its model.
 */
export function readInputSchema(given: unknown): InputSchema | { refusal: string } {
  const source = unpack(given)
  const text = JSON.stringify(source)
  if (text.length > MAX_SCHEMA) return { refusal: 'the schema of its input is too long' }
  if (measureJson(text, MAX_DEPTH).is_deep) return { refusal: 'the schema of its input is nested too deeply' }
  for (const budget of BUDGETS) {
    const schema = flatten(new Writer(source, budget).write(source))
    if (schema.type !== 'object') break
    const size = JSON.stringify(schema).length
    if (size > MAX_SCHEMA) continue
    ajv ??= new Ajv2020({ strict: false, validateFormats: false, logger: false })
    if (ajv.validateSchema(schema) !== true) break
    return { ...renameProperties(schema), size }
  }
  return { refusal: 'the schema of its input is not valid' }
}

let ajv: Ajv2020 | undefined

/** None at all takes anything; some servers write theirs as text. */
function unpack(given: unknown): Schema {
  if (typeof given === 'string') {
    try {
      return unpack(JSON.parse(given))
    } catch {
      return { type: given }
    }
  }
  return isRecord(given)
    ? given
    : { type: given === true || given === undefined || given === null ? 'object' : 'none' }
}

/** Writes a schema anew, with what its references mean in their places. */
class Writer {
  readonly #root: Schema
  #left: number

  constructor(root: Schema, budget: number) {
    this.#root = root
    this.#left = budget
  }

  write(given: unknown, level = 0, within: readonly string[] = []): Schema {
    this.#left -= 1
    if (!isRecord(given) || level > MAX_LEVELS || this.#left < 0) return {}
    const { $ref, ...own } = given
    if (typeof $ref === 'string') {
      const meant = within.includes($ref) ? undefined : this.#find($ref)
      const written = meant === undefined ? {} : this.write(meant, level, [...within, $ref])
      // One that holds itself ends where it would begin again.
      return {
        ...(meant === undefined ? typeOf(this.#find($ref)) : written),
        ...this.#keywords(own, level, within),
      }
    }
    return this.#keywords(own, level, within)
  }

  #keywords(given: Schema, level: number, within: readonly string[]): Schema {
    const inner = (schema: unknown) => this.write(schema, level + 1, within)
    const schema: Schema = {}
    for (const [key, value] of Object.entries(given)) {
      if (DROPPED.has(key) || (value === null && key !== 'default' && key !== 'const')) continue
      const written = readKeyword(key, value, inner)
      if (written !== undefined) schema[key === 'prefixItems' ? 'items' : key] = written
    }
    return tidy(schema, given)
  }

  #find(ref: string): unknown {
    if (!ref.startsWith('#')) return undefined
    return ref
      .slice(1)
      .split('/')
      .filter((part, at) => at > 0 || part !== '')
      .map((part) => decodePercent(part).replaceAll('~1', '/').replaceAll('~0', '~'))
      .reduce<unknown>((at, part) => {
        if (Array.isArray(at)) return at[Number(part)]
        return isRecord(at) && Object.hasOwn(at, part) ? at[part] : undefined
      }, this.#root)
  }
}

const DROPPED = new Set(
  '$schema $id id $anchor $dynamicAnchor $dynamicRef $recursiveRef $recursiveAnchor $comment $vocabulary $defs definitions additionalItems nullable discriminator xml externalDocs'.split(
    ' ',
  ),
)
const MAPS = new Set(['properties', 'patternProperties', 'dependentSchemas'])
const LISTS = new Set(['anyOf', 'oneOf', 'allOf'])
const SCHEMAS = new Set(
  'additionalProperties unevaluatedProperties unevaluatedItems not if then else contains propertyNames'.split(
    ' ',
  ),
)
const NUMBERS = new Set(
  'minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength minItems maxItems minProperties maxProperties minContains maxContains'.split(
    ' ',
  ),
)
const TEXTS = new Set(['title', 'description', 'pattern', 'format'])
/** What other languages call the types. */
const TYPES: Readonly<Record<string, string>> = {
  ...{ str: 'string', text: 'string', int: 'integer', long: 'integer', float: 'number', double: 'number' },
  ...{ bool: 'boolean', dict: 'object', map: 'object', list: 'array', tuple: 'array', none: 'null' },
}

function readKeyword(key: string, value: unknown, inner: (schema: unknown) => Schema): unknown {
  if (key === 'type') return readType(value)
  if (key === 'items' || key === 'prefixItems') return readItems(value, inner)
  if (MAPS.has(key)) return mapValues(value, inner)
  if (LISTS.has(key)) return Array.isArray(value) && value.length > 0 ? value.map(inner) : undefined
  if (SCHEMAS.has(key)) return typeof value === 'boolean' ? value : inner(value)
  if (NUMBERS.has(key)) return readNumber(value)
  return TEXTS.has(key) && typeof value !== 'string' ? undefined : value
}

const typeOf = (schema: unknown): Schema =>
  isRecord(schema) && schema.type !== undefined ? { type: readType(schema.type) } : {}

/** `any` is no type, and takes the keyword away. */
function readType(type: unknown): unknown {
  if (Array.isArray(type)) {
    const types = [...new Set(type.map((each) => (each === null ? 'null' : readType(each))))]
    if (types.includes(undefined) || types.length === 0) return undefined
    return types.length === 1 ? types[0] : types
  }
  if (typeof type !== 'string') return undefined
  const word = type.toLowerCase()
  return word === 'any' ? undefined : (TYPES[word] ?? word)
}

const mapValues = (value: unknown, inner: (schema: unknown) => Schema): Schema =>
  isRecord(value) ? Object.fromEntries(Object.entries(value).map(([key, each]) => [key, inner(each)])) : {}

/** One schema for all items: providers know no other. */
function readItems(value: unknown, inner: (schema: unknown) => Schema): Schema | undefined {
  if (!Array.isArray(value)) return isRecord(value) ? inner(value) : undefined
  const items = value.map(inner)
  return items.length > 1 ? { anyOf: items } : items[0]
}

function readNumber(value: unknown): number | undefined {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined
}

function tidy(schema: Schema, given: Schema): Schema {
  // In draft 4 a limit is exclusive by a word beside it.
  for (const [limit, word] of [
    ['minimum', 'exclusiveMinimum'],
    ['maximum', 'exclusiveMaximum'],
  ] as const)
    if (given[word] === true && schema[limit] !== undefined) {
      schema[word] = schema[limit]
      delete schema[limit]
    }
  // OpenAI takes no array without it.
  if (schema.type === 'array') schema.items ??= {}
  if (!Array.isArray(schema.enum) || schema.enum.length === 0) delete schema.enum
  // In draft 3 it stands at each property.
  if (!Array.isArray(schema.required)) delete schema.required
  else schema.required = [...new Set(schema.required.filter((name) => knows(schema, name)))]
  return schema
}

const knows = ({ properties }: Schema, name: unknown): boolean =>
  typeof name === 'string' && (!isRecord(properties) || Object.hasOwn(properties, name))

/** The top as one object: what all of the alternatives take, and what each of them requires. */
function flatten(schema: Schema): Schema {
  const { anyOf, oneOf, allOf, enum: _enum, const: _const, not: _not, if: _if, ...rest } = schema
  const { then: _then, else: _else, dependentSchemas: _dependent, ...top } = rest
  const lists = [anyOf, oneOf].flatMap((list) =>
    Array.isArray(list) ? [list.filter(isRecord).map(flatten)] : [],
  )
  const parts = Array.isArray(allOf) ? allOf.filter(isRecord).map(flatten) : []
  const properties: Schema = {}
  for (const part of [...lists.flat(), ...parts, top])
    if (isRecord(part.properties)) Object.assign(properties, part.properties)
  const required = new Set<unknown>([top, ...parts].flatMap(requiredOf))
  for (const list of lists)
    for (const name of requiredOf(list[0] ?? {}))
      if (list.every((part) => requiredOf(part).includes(name))) required.add(name)
  const types = Array.isArray(top.type) ? top.type : [top.type ?? 'object']
  const joined = lists.length > 0 || parts.length > 0
  // What one alternative forbids another may have.
  const { additionalProperties: _closed, unevaluatedProperties: _open, ...open } = top
  return {
    ...(joined ? open : top),
    type: types.includes('object') ? 'object' : types[0],
    properties,
    ...(required.size > 0 ? { required: [...required] } : {}),
  }
}

const requiredOf = ({ required }: Schema): unknown[] => (Array.isArray(required) ? required : [])

const PLAIN_NAME = /^[a-zA-Z0-9_.-]{1,64}$/

function renameProperties(schema: Schema): { schema: Schema; renamed: Map<string, string> } {
  const renamed = new Map<string, string>()
  const given = isRecord(schema.properties) ? schema.properties : {}
  if (Object.keys(given).every((name) => PLAIN_NAME.test(name))) return { schema, renamed }
  const taken = new Set(Object.keys(given).filter((name) => PLAIN_NAME.test(name)))
  const names = new Map<unknown, string>()
  for (const name of Object.keys(given)) {
    let plain = name
    if (!PLAIN_NAME.test(name)) {
      const clean = name.replace(/[^a-zA-Z0-9_.-]/g, '_').slice(0, 60) || '_'
      plain = clean
      for (let n = 2; taken.has(plain); n += 1) plain = `${clean}_${n}`
      taken.add(plain)
      renamed.set(plain, name)
    }
    names.set(name, plain)
  }
  const properties = Object.fromEntries(
    Object.entries(given).map(([name, each]) => [names.get(name) ?? name, each]),
  )
  const required = requiredOf(schema).map((name) => names.get(name) ?? name)
  return { schema: { ...schema, properties, ...(required.length > 0 ? { required } : {}) }, renamed }
}

/** The arguments of a call under the names that the server knows. */
export const underOwnNames = (
  input: Record<string, unknown>,
  renamed: ReadonlyMap<string, string>,
): Record<string, unknown> =>
  renamed.size === 0
    ? input
    : Object.fromEntries(Object.entries(input).map(([name, value]) => [renamed.get(name) ?? name, value]))
