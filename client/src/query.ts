export type QueryValue =
  | string
  | number
  | boolean
  | Date
  | readonly QueryValue[]
  | { readonly [key: string]: QueryValue }
  | null
  | undefined

/** Undefined and null values are left out. */
export interface QueryParams {
  readonly [name: string]: QueryValue
}

/** The path with `?state=A&state=B&metadata[team]=x`: arrays repeat the key, maps use brackets, dates are RFC 3339. */
export function joinQuery(path: string, query: QueryParams): string {
  const pairs = new URLSearchParams()
  const add = (name: string, value: QueryValue): void => {
    if (value === undefined || value === null) return
    if (value instanceof Date) pairs.append(name, value.toISOString())
    else if (isList(value)) for (const item of value) add(name, item)
    else if (typeof value === 'object')
      for (const [key, item] of Object.entries(value)) add(`${name}[${key}]`, item)
    else pairs.append(name, String(value))
  }
  for (const [name, value] of Object.entries(query)) add(name, value)
  const text = pairs.toString()
  return text ? `${path}${path.includes('?') ? '&' : '?'}${text}` : path
}

// `Array.isArray` alone does not narrow a readonly array.
const isList = (value: QueryValue): value is readonly QueryValue[] => Array.isArray(value)
