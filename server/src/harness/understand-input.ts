import { isRecord, storableRecord } from '../contract/storable-text.ts'
import { readLenientJson } from './lenient-json.ts'
import { isTooDeep, TOO_DEEP } from './tool-call.ts'

type Schema = Record<string, unknown>

/** How deep a schema is followed, and how much of it is looked at in all: servers of tools write what they like. */
const MAX_LEVELS = 16
const MAX_BRANCHES = 10_000
const MAX_TEXT = 8 * 1024 ** 2
/** What models write where they mean to leave a value out. */
const ABSENT = /^(?:null|none|undefined)?$/i

/**
 * The input of a call as its tool's schema says it is meant: `null` for what is optional is left out; numbers, booleans, lists and
 * objects may be given as text; arguments that are nearly JSON are read. What fits the schema is never changed. It is done before
 * a call is stored, so that rules of permissions see what is going to happen.
 */
export function understandInput(input: Record<string, unknown>, schema: Schema): Record<string, unknown> {
  const whole = readMalformed(input, schema)
  if (whole && 'problem' in whole) return input
  const fitted = fit(whole ? whole.value : input, schema, {
    ...{ root: schema, levels: MAX_LEVELS, left: { branches: MAX_BRANCHES } },
  })
  return isRecord(fitted) && !isTooDeep(fitted) ? storableRecord(fitted) : input
}

/** Why the arguments of a call are no JSON object, and where; `null` where they are. */
export function explainMalformed(input: unknown, schema: Schema): string | null {
  const reading = isRecord(input) ? readMalformed(input, schema) : null
  return reading && 'problem' in reading ? reading.problem : null
}

/** The arguments that could not be read as they came, read with more patience; `null` where nothing was wrong with them. */
function readMalformed(
  input: Record<string, unknown>,
  schema: Schema,
): { value: Record<string, unknown> } | { problem: string } | null {
  const names = Object.keys(input)
  if (names.length !== 1 || names[0] !== 'malformed') return null
  if (isRecord(schema.properties) && 'malformed' in schema.properties) return null
  let { malformed: given } = input
  if (given === TOO_DEEP) return { problem: TOO_DEEP.replace(/\.$/, '') }
  // Some providers encode arguments twice.
  for (let times = 0; times < 2 && typeof given === 'string' && given.trim() !== ''; times += 1) {
    if (given.length > MAX_TEXT) return { problem: 'they are no JSON, and too long to find the place' }
    const reading = readLenientJson(given)
    if ('problem' in reading) return reading
    given = reading.value
  }
  if (Array.isArray(given) && given.length === 1) given = given[0]
  if (isRecord(given)) return { value: given }
  const nothing = given === null || given === undefined || (typeof given === 'string' && given.trim() === '')
  return nothing ? { value: {} } : { problem: 'they have to be one JSON object' }
}

interface Place {
  /** References of the schema start here. */
  root: Schema
  levels: number
  left: { branches: number }
}

function fit(value: unknown, given: unknown, place: Place): unknown {
  if (place.levels === 0 || !isRecord(given)) return value
  const schema = follow(given, place)
  const inner = { ...place, levels: place.levels - 1 }
  const types = typesOf(schema, inner)
  const meant = types === null || types.has(typeOf(value, types)) ? value : convert(value, types)
  if (Array.isArray(meant))
    return meant.map((item) => fit(item, choose(schema, 'array', inner)?.items, inner))
  if (!isRecord(meant)) return meant
  const object = choose(schema, 'object', inner)
  return object ? fitObject(meant, object, inner) : meant
}

function fitObject(value: Record<string, unknown>, schema: Schema, place: Place): Record<string, unknown> {
  const properties = isRecord(schema.properties) ? schema.properties : {}
  const required = new Set(Array.isArray(schema.required) ? schema.required : [])
  const entries = Object.entries(value).flatMap(([name, item]): Array<[string, unknown]> => {
    const of_item = Object.hasOwn(properties, name) ? properties[name] : schema.additionalProperties
    if (!required.has(name) && isMeantAbsent(item, of_item, place)) return []
    return [[name, fit(item, of_item, place)]]
  })
  return Object.fromEntries(entries)
}

/** For a value that may be left out. */
function isMeantAbsent(item: unknown, given: unknown, place: Place): boolean {
  if (item !== null && !(typeof item === 'string' && ABSENT.test(item.trim()))) return false
  if (!isRecord(given)) return false
  const schema = follow(given, place)
  // OpenAPI's word for it.
  if (item === null && schema.nullable === true) return false
  const types = typesOf(schema, place)
  return types !== null && !types.has(item === null ? 'null' : 'string')
}

/** The value as one of the types, where there is one way only to read it so. */
function convert(value: unknown, types: ReadonlySet<string>): unknown {
  if (isRecord(value) && types.has('array')) return [value]
  if (typeof value !== 'string') return value
  const text = value.trim()
  if (types.has('boolean') && /^(?:true|false)$/i.test(text)) return text.toLowerCase() === 'true'
  if (/^[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(text)) {
    const number = Number(text)
    // JSON has no infinity: `1e999` would become null.
    if (!Number.isFinite(number)) return value
    const fits = Number.isInteger(number)
      ? Number.isSafeInteger(number) && (types.has('integer') || types.has('number'))
      : types.has('number')
    return fits ? number : value
  }
  const is_list = text.startsWith('[') && types.has('array')
  if (!is_list && !(text.startsWith('{') && (types.has('object') || types.has('array')))) return value
  const reading = readLenientJson(text)
  if ('problem' in reading || isTooDeep(reading.value)) return value
  return isRecord(reading.value) && !types.has('object') ? [reading.value] : reading.value
}

function typeOf(value: unknown, types: ReadonlySet<string>): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number' && Number.isInteger(value) && types.has('integer')) return 'integer'
  return typeof value
}

/** The types that a schema allows; `null`: any, or it cannot be told. */
function typesOf(schema: Schema, place: Place): Set<string> | null {
  const { type, enum: values, const: constant } = schema
  if (typeof type === 'string') return new Set([type])
  if (Array.isArray(type)) return new Set(type.filter((each) => typeof each === 'string'))
  if (Array.isArray(values)) return new Set(values.map((each) => typeOf(each, new Set())))
  if ('const' in schema) return new Set([typeOf(constant, new Set())])
  const branches = branchesOf(schema, place)
  if (branches.length === 0) return isRecord(schema.properties) ? new Set(['object']) : null
  const types = new Set<string>()
  for (const branch of branches) {
    place.left.branches -= 1
    const is_enough = place.levels === 0 || place.left.branches < 0
    const of_branch = is_enough ? null : typesOf(branch, { ...place, levels: place.levels - 1 })
    if (of_branch === null) return null
    for (const each of of_branch) types.add(each)
  }
  return types
}

/** The part of the schema that says more about values of this type; absent where there are several. */
function choose(schema: Schema, type: 'array' | 'object', place: Place): Schema | undefined {
  const branches = branchesOf(schema, place)
  if (branches.length === 0) return schema
  const fitting = branches.filter((branch) => typesOf(branch, place)?.has(type))
  const [only, ...others] = fitting
  if (!only || others.length > 0 || place.levels === 0) return undefined
  return choose(only, type, { ...place, levels: place.levels - 1 })
}

function branchesOf({ anyOf, oneOf }: Schema, place: Place): Schema[] {
  const given = Array.isArray(anyOf) ? anyOf : Array.isArray(oneOf) ? oneOf : []
  return given.filter(isRecord).map((branch) => follow(branch, place))
}

/** What a reference within the schema refers to. */
function follow(schema: Schema, { root, levels }: Place): Schema {
  let found = schema
  for (let times = 0; times < levels && typeof found.$ref === 'string'; times += 1) {
    const path = /^#\/(.+)$/.exec(found.$ref)?.[1]?.split('/') ?? []
    let target: unknown = root
    for (const part of path)
      target = isRecord(target) ? target[part.replaceAll('~1', '/').replaceAll('~0', '~')] : undefined
    if (!isRecord(target) || path.length === 0) return found
    found = target
  }
  return found
}
