import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { z } from 'zod'
import type { RouteDefinition } from '../route.ts'
import { type OperationId, ROUTES } from '../routes.ts'
import { EXAMPLES } from './examples.ts'

const routes = Object.entries(ROUTES) as Array<[OperationId, RouteDefinition]>

/** As it arrives in an address: text, or several texts. */
const asQuery = (query: object): Record<string, string | string[]> =>
  Object.fromEntries(
    Object.entries(query).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.map(String) : String(value),
    ]),
  )

const namesOf = (object: unknown): string[] => Object.keys(object as object).sort()

test('every example satisfies the schemas of its operation, and says nothing that they do not know', () => {
  for (const [id, route] of routes) {
    const { path, query, body, answer } = EXAMPLES[id]
    const reread = (schema: z.ZodType | undefined, value: unknown): unknown => {
      assert(schema, `${id} takes no such thing`)
      const { error, data } = schema.safeParse(structuredClone(value))
      assert.deepEqual(error?.issues, undefined, id)
      return data
    }
    if (path) assert.deepEqual(reread(route.params, path), path, id)
    if (query) assert.deepEqual(namesOf(reread(route.query, asQuery(query))), namesOf(query), id)
    if (body !== undefined) assert.deepEqual(reread(route.body, body), body, id)
    if (answer !== undefined) assert.deepEqual(reread(route.response, answer), answer, id)
    assert.equal(path !== undefined, route.params !== undefined, `${id}: path`)
    assert.equal(answer !== undefined, route.response !== undefined, `${id}: answer`)
    if (route.body && !route.body.safeParse(undefined).success) assert(body, `${id}: body`)
  }
})
