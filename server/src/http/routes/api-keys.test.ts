import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { openApp } from '../../../test/support/app.ts'
import { onEitherDatabase } from '../../../test/support/databases.ts'
import type { NewApiKey } from '../../contract/api-key.ts'
import { createPrincipalWithKey } from '../../store/api-keys.ts'

const SECRET = 'a secret key of more than thirty-two characters'

onEitherDatabase('answers with keys', (openStore) => {
  test('a key is given again to who repeats the request, and is nowhere in clear in the database', async (context) => {
    const store = await openStore()
    const admin = await createPrincipalWithKey(store.db, { name: 'Ada', role: 'admin' })
    const open = (secret: string) => {
      const app = openApp(store, { RUNYARD_SECRET_KEY: secret })
      context.after(() => app.close())
      return async (url: string, payload: object) => {
        const headers = { authorization: `Bearer ${admin.api_key}`, 'idempotency-key': 'once' }
        const answer = await app.inject({ method: 'POST', url: `/api/v1${url}`, payload, headers })
        return { status: answer.statusCode, headers: answer.headers, text: answer.body }
      }
    }
    const post = open(SECRET)
    const made = await post('/api-keys', { name: 'ci' })
    const keyOf = ({ text }: { text: string }) => JSON.parse(text) as NewApiKey
    const { api_key, key_id } = keyOf(made)
    const rotate = `/api-keys/${key_id}/rotate`
    const rotated = await post(rotate, { grace_minutes: 0 })
    for (const [url, payload, first] of [
      ['/api-keys', { name: 'ci' }, made],
      [rotate, { grace_minutes: 0 }, rotated],
    ] as const) {
      const again = await post(url, payload)
      assert.equal(again.status, 201)
      assert.equal(again.headers['idempotent-replayed'], 'true')
      assert.equal(again.text, first.text)
    }
    const stored = await sql<{ text: string }>`
    select k::text as text from idempotency_keys k union all select a::text from api_keys a
    union all select l::text from audit_log l`.execute(store.db)
    assert(stored.rows.length >= 5)
    for (const key of [api_key, keyOf(rotated).api_key])
      for (const { text } of stored.rows) assert(!text.includes(key), text)

    // Sealed with a key that is gone.
    const post_later = open('another secret key of more than thirty-two characters')
    const later = await post_later('/api-keys', { name: 'ci' })
    assert.equal(later.status, 409)
    assert.match(later.text, /cannot be shown again.*Revoke it/)
  })
})
