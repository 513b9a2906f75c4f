import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Secret } from '@runyard/client'
import { formOf, isWhole, requestOf } from './secret-form.ts'

const SECRET: Secret = {
  name: 'GITHUB',
  description: 'Pushes',
  git: {
    host: 'github.com',
    repositories: ['acme/site', 'acme-labs/*'],
    username: 'bot',
    read_only: true,
    app: { app_id: '1', installation_id: '2' },
  },
  scope: { type: 'Team' },
  version: 3,
  restricted: false,
  created_at: '2026-01-01T00:00:00.000Z',
  last_updated: '2026-01-02T00:00:00.000Z',
  creator: { uid: 'u', type: 'user' },
}

test('a form that nobody touched but for the value says of a secret what is said of it', () => {
  const form = { ...formOf(SECRET), value: 'another value' }
  assert.deepEqual(requestOf(form), {
    scope: 'Team',
    value: 'another value',
    description: 'Pushes',
    git: SECRET.git,
  })
  const { git: _, ...others } = SECRET
  const registry = { host: 'ghcr.io', username: 'acme-bot' }
  assert.deepEqual(requestOf({ ...formOf({ ...others, registry }), value: 'x' }).registry, registry)
})

test('fields of another kind are not sent', () => {
  const form = { ...formOf(SECRET), kind: 'variable' as const, description: ' ', value: 'two\nlines\n\n' }
  assert.deepEqual(requestOf(form), { scope: 'Team', value: 'two\nlines\n' })
})

test('a form is whole with what its kind needs', () => {
  const form = { ...formOf(undefined), name: 'A', value: 'v' }
  assert.equal(isWhole(form), true)
  assert.equal(isWhole({ ...form, value: '' }), false)
  assert.equal(isWhole({ ...form, kind: 'git' }), false)
  assert.equal(isWhole({ ...form, kind: 'git', host: 'github.com' }), true)
  assert.equal(isWhole({ ...form, kind: 'registry', host: 'ghcr.io' }), false)
})
