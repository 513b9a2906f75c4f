/** One call of an operation as it could be, and its answer. A test holds it against the schemas of its route. */
export interface Example {
  /** The method of the official clients, as TypeScript writes it; none: they have no method for it. */
  client?: string
  path?: Readonly<Record<string, string>>
  query?: Readonly<Record<string, string | number | boolean | readonly string[]>>
  body?: unknown
  answer?: unknown
}
