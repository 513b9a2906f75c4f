import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError } from '../contract/error.ts'
import { createSignedLinks, LINK_SECONDS } from './signed-link.ts'

const START = Date.parse('2026-01-01T00:00:00Z')
let now = START
const links = createSignedLinks('a secret of the installation', () => now)

const queryOf = (path: string): Record<string, string> =>
  Object.fromEntries(new URL(path, 'http://localhost').searchParams)
const refused = (path: string, query: unknown) =>
  assert.throws(
    () => links.verify(path, query),
    (error) => error instanceof AppError && error.code === 'resource_not_found',
  )

test('a link is good for its path and its quarter of an hour', () => {
  now = START
  const { path, expires_at } = links.sign('/downloads/a')
  assert.equal(expires_at.getTime(), START + 15 * 60_000)
  const query = queryOf(path)
  links.verify('/downloads/a', query)
  refused('/downloads/b', query)
  now = START + LINK_SECONDS * 1000
  links.verify('/downloads/a', query)
  now += 1
  refused('/downloads/a', query)
})

test('a link that was changed, cut or made by another installation is refused', () => {
  now = START
  const query = queryOf(links.sign('/downloads/a').path)
  const other = createSignedLinks('another secret', () => now)
  refused('/downloads/a', queryOf(other.sign('/downloads/a').path))
  refused('/downloads/a', { ...query, expires: String(Number(query.expires) + 1) })
  refused('/downloads/a', { ...query, expires: `${query.expires}.0` })
  refused('/downloads/a', { ...query, signature: query.signature?.slice(0, -1) })
  refused('/downloads/a', { ...query, signature: '' })
  refused('/downloads/a', { signature: query.signature })
  refused('/downloads/a', { ...query, signature: [query.signature, query.signature] })
  refused('/downloads/a', undefined)
})
