/** Every operation of `openapi.json` has a method of each library: the row that shows it is run by both. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { readTable } from './behaviour-table.ts'

/** Operations that no method asks for, and why. */
const WITHOUT_METHOD: Record<string, string> = {
  downloadArtifact: 'artifacts.download asks for the artifact and follows its link without the key',
  runAgent: 'the same as createRun, under the name of the wire format',
}

interface Row {
  except?: string[]
  expect: { requests?: Array<{ method?: unknown; path?: unknown }> }
}

const { paths } = JSON.parse(readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8')) as {
  paths: Record<string, Record<string, { operationId?: string }>>
}
const operations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).flatMap(([method, { operationId }]) =>
    operationId ? [{ operationId, method: method.toUpperCase(), pattern: patternOf(path) }] : [],
  ),
)

function patternOf(path: string): RegExp {
  const parts = path.replace(/^\/api\/v1/, '').split(/\{\w+\}/)
  return new RegExp(`^/api/v1${parts.map((part) => part.replaceAll('.', '\\.')).join('[^/]+')}$`)
}

test('every operation is asked for by a method of both libraries', () => {
  const rows = readTable() as unknown[] as Row[]
  const asked = new Set<string>()
  for (const { except = [], expect } of rows) {
    // What Python leaves out, or Node, is not shown by it.
    if (except.some((runtime) => runtime.startsWith('python') || runtime === 'node')) continue
    for (const { method = 'GET', path } of expect.requests ?? []) {
      if (typeof path !== 'string') continue
      const found = operations.filter((one) => one.method === method && one.pattern.test(path))
      for (const { operationId } of found) asked.add(operationId)
    }
  }
  assert.deepEqual(
    operations
      .map(({ operationId }) => operationId)
      .filter((id) => !asked.has(id) && !(id in WITHOUT_METHOD)),
    [],
  )
  const unneeded = Object.keys(WITHOUT_METHOD).filter((id) => asked.has(id))
  assert.deepEqual(unneeded, [], 'What has a method is no exception.')
})
