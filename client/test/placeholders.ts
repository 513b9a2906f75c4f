export type Json = string | number | boolean | null | Json[] | { [key: string]: Json }
export type Values = { [key: string]: Json }

/**
 * Puts values for `${name}`: as text inside of a string, as they are where the string is nothing else (there null takes the
 * key away). Unknown names stay.
 */
export function fill(json: Json, values: Values): Json {
  if (typeof json === 'string') {
    const whole = /^\$\{(\w+)\}$/.exec(json)?.[1]
    if (whole !== undefined && whole in values) return values[whole] ?? null
    return json.replace(/\$\{(\w+)\}/g, (all, name: string) => {
      const value = values[name]
      if (value === undefined) return all
      return typeof value === 'object' ? JSON.stringify(value) : String(value)
    })
  }
  if (Array.isArray(json)) return json.map((item) => fill(item, values))
  if (json === null || typeof json !== 'object') return json
  const filled: Values = {}
  for (const [key, value] of Object.entries(json)) {
    const result = fill(value, values)
    if (result !== null || value === null) filled[String(fill(key, values))] = result
  }
  return filled
}
