import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { test } from 'node:test'
import { openApp, settingsOf } from '../../../test/support/app.ts'
import { openEmbedded } from '../../../test/support/databases.ts'
import { addRun } from '../../../test/support/stored.ts'
import { createPrincipalWithKey, readActor } from '../../store/api-keys.ts'
import { createSessionLinks } from '../session-access.ts'

test('the cookie is secure, and says so by its name, where the service is reached by https', async (context) => {
  const settings = { ...settingsOf(), public_url: 'https://runs.example' }
  const store = await openEmbedded()
  const app = openApp(store, settings)
  context.after(async () => {
    await app.close()
    await store.close()
  })
  const actor = await createPrincipalWithKey(store.db, { name: 'Ada', role: 'member' })
  const run_id = await addRun(store.db, actor.principal_id)
  const sessions = createSessionLinks(settings, (key_id) => readActor(store.db, key_id))
  const link = new URL(sessions.linkTo(run_id, actor))
  // Behind a proxy that ends TLS the request itself is http; the origin is the public one.
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  const sent = request(`${address}/sessions/${run_id}/access`, {
    method: 'POST',
    headers: { host: 'runs.example', origin: link.origin, 'content-type': 'application/json' },
  })
  sent.end(JSON.stringify({ token: link.hash.replace('#access=', '') }))
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  answer.resume()
  assert.equal(answer.statusCode, 204)
  assert.match(
    String(answer.headers['set-cookie']),
    new RegExp(
      `^__Secure-runyard_session=[\\w.-]+; Max-Age=43200; Path=/sessions/${run_id}; HttpOnly; Secure; SameSite=Strict$`,
    ),
  )
})
