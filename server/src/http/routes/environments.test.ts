import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { openApp } from '../../../test/support/app.ts'
import { onEitherDatabase } from '../../../test/support/databases.ts'
import { addWorker } from '../../../test/support/stored.ts'
import { createPrincipalWithKey } from '../../store/api-keys.ts'
import { drainWorker } from '../../store/workers.ts'

onEitherDatabase('images of environments', (openStore) => {
  test('are refused where no worker may use them, as far as workers say', async (context) => {
    const store = await openStore()
    const { api_key } = await createPrincipalWithKey(store.db, { name: 'Ada', role: 'admin' })
    const app = openApp(store)
    context.after(() => app.close())
    const create = async (docker_image: string) => {
      const payload = { name: randomUUID(), docker_image }
      const headers = { authorization: `Bearer ${api_key}` }
      const answer = await app.inject({ method: 'POST', url: '/api/v1/agent/environments', payload, headers })
      return `${answer.statusCode} ${answer.json<{ error_code?: string }>().error_code ?? ''}`.trim()
    }
    const refused = '403 feature_not_available'
    // Nobody knows yet.
    assert.equal(await create('node:24'), '201')
    await addWorker(store.db, { images: { patterns: ['ghcr.io/acme/*'], local: false } })
    assert.deepEqual([await create('node:24'), await create('ghcr.io/acme/tool')], [refused, '201'])
    const changed = await app.inject({
      ...{ method: 'PUT', url: `/api/v1/agent/environments/${await nameOfFirst()}` },
      ...{
        payload: { name: randomUUID(), docker_image: 'node:24' },
        headers: { authorization: `Bearer ${api_key}` },
      },
    })
    assert.equal(changed.statusCode, 403)
    // One that has it may use it, without a word of whether it does.
    const local = await addWorker(store.db, { images: { patterns: [], local: true } })
    assert.equal(await create('node:24'), '201')
    await drainWorker(store.db, local.worker_id)
    assert.equal(await create('node:24'), refused)
    // Where sandboxes are made of no images, they are nobody's matter.
    await addWorker(store.db)
    assert.equal(await create('node:24'), '201')

    async function nameOfFirst(): Promise<string> {
      const headers = { authorization: `Bearer ${api_key}` }
      const answer = await app.inject({ method: 'GET', url: '/api/v1/agent/environments', headers })
      return answer.json<{ environments: { uid: string }[] }>().environments[0]?.uid ?? ''
    }
  })
})
