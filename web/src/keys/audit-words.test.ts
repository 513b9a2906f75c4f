import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { sayDeed } from './audit-words.ts'

interface Description {
  paths: Record<string, Record<string, { operationId: string }>>
}

test('each operation of the API is said in words', () => {
  const file = new URL('../../../openapi.json', import.meta.url)
  const { paths } = JSON.parse(readFileSync(file, 'utf8')) as Description
  const operations = Object.values(paths).flatMap((methods) =>
    Object.values(methods).map(({ operationId }) => operationId),
  )
  assert(operations.length > 60)
  assert.deepEqual(
    operations.filter((operation) => sayDeed(operation, false) === undefined),
    [],
  )
})

test('what was done is said as done, and what was refused as tried', () => {
  assert.equal(sayDeed('createSignInLink', false), 'Made a sign-in link')
  assert.equal(sayDeed('cancelRun', false), 'Cancelled a run')
  assert.equal(sayDeed('revokeApiKey', false), 'Revoked an API key')
  assert.equal(sayDeed('POST /web/session', false), 'Signed in to the page')
  assert.equal(sayDeed('listAuditLog', true), 'Tried to read the audit log')
  assert.equal(sayDeed('POST /elsewhere', false), undefined)
})
