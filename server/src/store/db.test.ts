import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'

// More than it takes to have the largest functions of PostgreSQL optimized.
const STATEMENTS = 400
const PROGRAM = `
import { sql } from 'kysely'
import { openPglite } from ${JSON.stringify(new URL('./pglite.ts', import.meta.url).href)}
const store = await openPglite()
for (let at = 0; at < ${STATEMENTS}; at += 1) await sql.raw('select 1 as n' + at + ', now()').execute(store.db)
await store.close()`
const MOST_BYTES = 20_000_000

test('V8 spends no memory on optimizing the embedded database', () => {
  const flags = ['--trace-wasm-compilation-times', '--input-type=module']
  const printed = execFileSync(process.execPath, [...flags, '-e', PROGRAM], { encoding: 'utf8' })
  const functions = [...printed.matchAll(/^Compiled function .* took \d+ ms and (\d+) .*$/gm)]
  assert(functions.length > 1000)
  assert.deepEqual(
    functions.filter(([, bytes]) => Number(bytes) > MOST_BYTES).map(([line]) => line),
    [],
  )
})
