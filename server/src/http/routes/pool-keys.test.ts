import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openApp } from '../../../test/support/app.ts'
import { onEitherDatabase } from '../../../test/support/databases.ts'
import type { ApiKey, NewApiKey } from '../../contract/api-key.ts'
import { ROUTES } from '../../contract/routes.ts'
import { createPrincipalWithKey, readStanding } from '../../store/api-keys.ts'

onEitherDatabase('pool keys', (openStore) => {
  test('are made, listed, rotated and revoked like others, and open no route', async (context) => {
    const store = await openStore()
    const admin = await createPrincipalWithKey(store.db, { name: 'Ada', role: 'admin' })
    const app = openApp(store)
    context.after(() => app.close())
    const ask = async (method: 'GET' | 'POST' | 'DELETE', url: string, key: string, payload?: object) => {
      const headers = { authorization: `Bearer ${key}` }
      const answer = await app.inject({
        method,
        url: `/api/v1${url}`,
        headers,
        ...(payload ? { payload } : {}),
      })
      return { status: answer.statusCode, body: answer.json<never>() as object }
    }
    const { body: refused } = await ask('POST', '/api-keys', admin.api_key, {
      name: 'gpu',
      pool: 'gpu',
      role: 'admin',
    })
    assert.match(JSON.stringify(refused), /must not have role and pool/)
    const made = await ask('POST', '/api-keys', admin.api_key, { name: 'gpu', pool: 'gpu' })
    assert.equal(made.status, 201)
    const key = made.body as NewApiKey
    assert.match(key.api_key, /^ryp_[A-Za-z0-9]{46}$/)
    assert.equal(key.pool, 'gpu')
    assert.equal(key.role, 'viewer')
    for (const { method, path, ...route } of Object.values(ROUTES)) {
      if ('is_public' in route) continue
      const url = path.replace(/\{\w+\}/g, '01a20b4c-d2f6-7441-a9b5-4278f2693852')
      const { status, body } = await ask(method as 'GET', url, key.api_key)
      assert.equal(status, 403, `${method} ${path}`)
      assert.match(JSON.stringify(body), /This is a pool key: workers claim runs with it/)
    }
    const rotated = (await ask('POST', `/api-keys/${key.key_id}/rotate`, admin.api_key, { grace_minutes: 0 }))
      .body as NewApiKey
    assert.match(rotated.api_key, /^ryp_/)
    assert.equal(rotated.pool, 'gpu')
    assert.equal((await ask('GET', '/agent/models', key.api_key)).status, 401)
    const revoked = (await ask('DELETE', `/api-keys/${rotated.key_id}`, admin.api_key)).body as ApiKey
    assert.equal(revoked.active, false)
    const { api_keys } = (await ask('GET', '/api-keys', admin.api_key)).body as { api_keys: ApiKey[] }
    assert.deepEqual(
      api_keys.map(({ pool }) => pool),
      ['gpu', 'gpu', undefined],
    )
  })

  test('are no standing of whose they are', async () => {
    const store = await openStore()
    const { principal_id } = await createPrincipalWithKey(store.db, {
      name: 'fleet',
      role: 'viewer',
      pool: 'gpu',
    })
    assert.equal((await readStanding(store.db, principal_id)).role, 'member')
  })
})
