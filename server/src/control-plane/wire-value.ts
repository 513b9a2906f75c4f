/**
 * Values of the port as JSON: dates, maps and sets are objects of one field whose name begins with `$`, and what has such a name
 * already is wrapped.
 */
type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

export function toWire(value: unknown): Json {
  if (value instanceof Date) return { $date: value.toISOString() }
  if (value instanceof Map)
    return { $map: [...value].map(([key, inner]): Json => [toWire(key), toWire(inner)]) }
  if (value instanceof Set) return { $set: [...value].map(toWire) }
  if (Array.isArray(value)) return value.map(toWire)
  if (typeof value !== 'object' || value === null) return (value ?? null) as Json
  const plain = Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) => (inner === undefined ? [] : [[key, toWire(inner)]])),
  )
  return isMark(plain) ? { $plain: plain } : plain
}

export function fromWire(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(fromWire)
  if (typeof value !== 'object' || value === null) return value
  if (!isMark(value)) return mapFields(value)
  if ('$date' in value) return new Date(String(value.$date))
  if ('$map' in value) return new Map(fromWire(value.$map) as Array<[unknown, unknown]>)
  if ('$set' in value) return new Set(fromWire(value.$set) as unknown[])
  return '$plain' in value ? mapFields(value.$plain as object) : mapFields(value)
}

const mapFields = (value: object): object =>
  Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, fromWire(inner)]))

function isMark(value: object): boolean {
  const [key = '', ...others] = Object.keys(value)
  return others.length === 0 && key.startsWith('$')
}
