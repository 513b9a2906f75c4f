/** What a browser reads before the page shows anything. */
import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { test } from 'node:test'

const dist = new URL('../web/dist/', import.meta.url)
const sizeOf = (file: string): number => statSync(new URL(file, dist)).size

test('the first script stays small, and so does all that it cannot do without', () => {
  const html = readFileSync(new URL('index.html', dist), 'utf8')
  const [first = ''] = [...html.matchAll(/<script[^>]+src="([^"]+)"/g)].map(([, file = '']) => file)
  const imported = [...html.matchAll(/<link rel="modulepreload"[^>]+href="([^"]+)"/g)]
  const total = imported.reduce((sum, [, file = '']) => sum + sizeOf(file), sizeOf(first))
  assert(
    sizeOf(first) < 250_000,
    `${first} has ${sizeOf(first)} bytes: have a page read later what it alone needs`,
  )
  assert(imported.length > 0 && total < 530_000, `with its imports it has ${total} bytes`)
})
