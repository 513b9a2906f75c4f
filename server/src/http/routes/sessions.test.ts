import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { tmpdir } from 'node:os'
import { test } from 'node:test'
import { openEmbedded } from '../../../test/support/databases.ts'
import { addRun } from '../../../test/support/stored.ts'
import { openDiskBlobs } from '../../blobs/disk.ts'
import { readConfig } from '../../config.ts'
import { openKeyring } from '../../sealing/keyring.ts'
import { createPrincipalWithKey, readActor } from '../../store/api-keys.ts'
import { Watch } from '../../store/watch.ts'
import { createApp } from '../app.ts'
import { createSessionLinks } from '../session-access.ts'

test('the cookie is secure, and says so by its name, where the service is reached by https', async (context) => {
  const settings = {
    public_url: 'https://runs.example',
    allowed_hosts: [],
    secret_key: 'a secret key of more than thirty-two characters',
    keyring: openKeyring('a secret key of more than thirty-two characters'),
    trust_proxy: false,
    version: '0',
    log_level: 'silent',
    default_pool: 'default',
    harnesses: ['oz', 'runbook'],
    limit_maxima: readConfig({}).limit_maxima,
    min_schedule_seconds: 10,
    open_runs: { principal: 0, total: 0 },
    request_maxima: { requests_per_minute: 0, creates_per_minute: 0 },
    max_run_files_bytes: 0,
  }
  const store = await openEmbedded()
  const app = createApp({
    store,
    watch: new Watch(store),
    blobs: openDiskBlobs(tmpdir()),
    settings,
    readiness: async () => ({
      ready: true,
      database: { kind: 'pglite', reachable: true, migrated: true },
    }),
  })
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
