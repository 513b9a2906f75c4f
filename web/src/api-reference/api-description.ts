/** What is read of `openapi.json`. */
export interface ApiDescription {
  servers: Array<{ url: string }>
  paths: Record<string, Record<string, Operation>>
}

export interface Operation {
  operationId: string
  parameters?: Array<{ name: string; in: string; example?: unknown }>
  requestBody?: { content: { 'application/json': { example?: unknown } } }
  responses: Record<string, { content?: Record<string, unknown> }>
  /** Of the official clients: `runs.create`. */
  'x-client-method'?: string
  'x-pagination'?: object
}
