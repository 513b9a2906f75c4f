import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSessionLinks } from './session-access.ts'

const RUN = '01980000-0000-7000-8000-000000000001'
const ADA = { principal_id: 'p1', role: 'member', key_id: '01980000-0000-7000-8000-00000000000a' } as const
let now = Date.parse('2026-01-01T00:00:00Z')
let good = true
const open = (secret_key: string) =>
  createSessionLinks(
    { secret_key, public_url: 'https://runs.example' },
    async (key_id) => (good && key_id === ADA.key_id ? ADA : null),
    () => now,
  )
const sessions = open('a secret of the installation')
const tokenOf = (link: string) => new URL(link).hash.replace('#access=', '')

test('a link opens its page for a quarter of an hour, and says who made it', async () => {
  const link = sessions.linkTo(RUN, ADA)
  assert.equal(new URL(link).pathname, `/sessions/${RUN}`)
  assert.deepEqual(await sessions.findByLink(RUN, tokenOf(link)), ADA)
  now += 16 * 60_000
  assert.equal(await sessions.findByLink(RUN, tokenOf(link)), null)
})

test('it ends with its key', async () => {
  const token = tokenOf(sessions.linkTo(RUN, ADA))
  good = false
  assert.equal(await sessions.findByLink(RUN, token), null)
  good = true
  assert.deepEqual(await sessions.findByLink(RUN, token), ADA)
})

test('a token that was changed, of the form without a key, or made for something else is refused', async () => {
  const token = tokenOf(sessions.linkTo(RUN, ADA))
  const [expires = '', key_id = '', signature = ''] = token.split('.')
  for (const [session_id, given] of [
    [RUN.replace(/1$/, '2'), token],
    [RUN, tokenOf(open('another secret').linkTo(RUN, ADA))],
    [RUN, `${Number(expires) + 60}.${key_id}.${signature}`],
    [RUN, `${expires}.${key_id.replace(/a$/, 'b')}.${signature}`],
    [RUN, `${expires}.${signature}`],
    [RUN, `${expires}.${key_id}.`],
    [RUN, ''],
  ] as const) {
    assert.equal(await sessions.findByLink(session_id, given), null, given)
  }
})
