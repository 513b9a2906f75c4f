import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError } from '../contract/error.ts'
import { createSignedLinks, LINK_SECONDS } from './signed-link.ts'

const START = Date.parse('2026-01-01T00:00:00Z')
const ADA = { principal_id: 'p1', role: 'member', key_id: 'k1' } as const
const BO = { principal_id: 'p2', role: 'viewer', key_id: 'k2' } as const
let now = START
let good: ReadonlyArray<typeof ADA | typeof BO> = [ADA, BO]
const open = (secret: string) =>
  createSignedLinks(
    secret,
    async (key_id) => good.find((actor) => actor.key_id === key_id) ?? null,
    () => now,
  )
const links = open('a secret of the installation')

const queryOf = (path: string): Record<string, string> =>
  Object.fromEntries(new URL(path, 'http://localhost').searchParams)
const refused = (path: string, query: unknown) =>
  assert.rejects(
    links.verify(path, query),
    (error) =>
      error instanceof AppError &&
      error.code === 'resource_not_found' &&
      error.detail === 'The link is not valid, or its time is over.',
  )

test('a link is good for its path and its quarter of an hour, and says who made it', async () => {
  now = START
  const { path, expires_at } = links.sign('/downloads/a', ADA)
  assert.equal(expires_at.getTime(), START + 15 * 60_000)
  const query = queryOf(path)
  assert.deepEqual(await links.verify('/downloads/a', query), ADA)
  assert.deepEqual(await links.verify('/downloads/a', queryOf(links.sign('/downloads/a', BO).path)), BO)
  await refused('/downloads/b', query)
  now = START + LINK_SECONDS * 1000
  await links.verify('/downloads/a', query)
  now += 1
  await refused('/downloads/a', query)
})

test('a link ends with its key', async () => {
  now = START
  const [ada, bo] = [ADA, BO].map((actor) => queryOf(links.sign('/downloads/a', actor).path))
  good = [BO]
  await refused('/downloads/a', ada)
  assert.deepEqual(await links.verify('/downloads/a', bo), BO)
  await refused('/downloads/a', { ...ada, key: BO.key_id })
  good = [ADA, BO]
  await links.verify('/downloads/a', ada)
})

test('a link that was changed, cut or made by another installation is refused', async () => {
  now = START
  const query = queryOf(links.sign('/downloads/a', ADA).path)
  await refused('/downloads/a', queryOf(open('another secret').sign('/downloads/a', ADA).path))
  await refused('/downloads/a', { ...query, expires: String(Number(query.expires) + 1) })
  await refused('/downloads/a', { ...query, expires: `${query.expires}.0` })
  await refused('/downloads/a', { ...query, key: BO.key_id })
  await refused('/downloads/a', { ...query, key: [query.key, query.key] })
  await refused('/downloads/a', { expires: query.expires, signature: query.signature })
  await refused('/downloads/a', { ...query, signature: query.signature?.slice(0, -1) })
  await refused('/downloads/a', { ...query, signature: '' })
  await refused('/downloads/a', { key: query.key, signature: query.signature })
  await refused('/downloads/a', { ...query, signature: [query.signature, query.signature] })
  await refused('/downloads/a', undefined)
})
