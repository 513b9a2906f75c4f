/** Budgets belong to who cannot be renewed: a principal with all keys, all visitors of a principal, a network of addresses. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { sql } from 'kysely'
import { v7 as uuidv7 } from 'uuid'
import type { PrepareAttachmentsResponse } from '../src/contract/prepared-attachment.ts'
import { listAudit } from '../src/store/audit-log.ts'
import { ORIGIN } from './support/app.ts'
import { until } from './support/cluster.ts'
import { onFace } from './support/face.ts'
import { makeKeys } from './support/seed-keys.ts'

const RUN = { prompt: 'x', config: { worker_host: 'nobody' } }
const REQUESTS = 40
const CREATES = 4
const PAGE = { 'x-runyard-page': '1', origin: ORIGIN, host: '127.0.0.1' }

onFace(
  'budgets',
  (face) => {
    type Name = 'rotating' | 'uploading' | 'sharing' | 'reloading' | 'browsing' | 'cookies' | 'downloading'
    let keys: Record<Name, string>
    before(async () => {
      keys = await makeKeys(face().store.db, {
        rotating: { role: 'member' },
        uploading: { role: 'member' },
        sharing: { role: 'member' },
        reloading: { role: 'member' },
        browsing: { role: 'member' },
        cookies: { role: 'member' },
        downloading: { role: 'member' },
      })
    })
    const linkOf = async (key: string): Promise<{ run_id: string; token: string }> => {
      const api = face().as(key)
      const run_id = await api.create(RUN)
      const { url } = await api.json<{ url: string }>('POST', `/agent/runs/${run_id}/share-links`, {})
      return { run_id, token: new URL(url).hash.replace('#access=', '') }
    }
    const knock = (payload: { run_id: string; token: string }, headers: Record<string, string> = {}) =>
      face().app.inject({ method: 'POST', url: '/web/visits', headers: { ...PAGE, ...headers }, payload })
    const cookieOf = ({ cookies }: { cookies: Array<{ name: string; value: string }> }) =>
      cookies.map(({ name, value }) => `${name}=${value}`).at(-1) ?? ''

    test('a key that is rotated goes on with what its owner has left', async () => {
      let api = face().as(keys.rotating)
      const create = async () => (await api.call('POST', '/agent/runs', RUN)).status
      const before_it = [await create(), await create(), await create(), await create()]
      const { api_keys } = await api.json<{ api_keys: Array<{ key_id: string }> }>('GET', '/api-keys')
      const { api_key } = await api.json<{ api_key: string }>(
        'POST',
        `/api-keys/${api_keys[0]?.key_id}/rotate`,
        {},
      )
      api = face().as(api_key)
      assert.deepEqual([...before_it, await create()], [200, 200, 200, 200, 429])
    })

    test('uploads by a link use what the one who made it has left', async () => {
      const api = face().as(keys.uploading)
      const path = `/agent/runs/${await api.create(RUN)}/attachments/prepare`
      const body = { attachments: [{ file_name: 'a.txt', mime_type: 'text/plain' }] }
      const { attachments } = await api.json<PrepareAttachmentsResponse>('POST', path, body)
      const url = attachments[0]?.upload_url ?? ''
      const statuses = await Promise.all(
        Array.from(
          { length: REQUESTS },
          async () => (await face().fetch(url, { method: 'PUT', body: 'x' })).status,
        ),
      )
      assert.equal(statuses.filter((status) => status === 429).length, 2)
    })

    test('all visits of a principal’s links use one budget, which is not the principal’s', async () => {
      const links = [await linkOf(keys.sharing), await linkOf(keys.sharing)]
      const seen: number[] = []
      for (const link of links) {
        const cookie = cookieOf(await knock(link))
        const headers = { ...PAGE, 'x-runyard-page': `visit ${link.run_id}`, cookie }
        for (let count = 0; count < REQUESTS - 10; count++) {
          const url = `/api/v1/agent/runs/${link.run_id}`
          seen.push((await face().app.inject({ url, headers })).statusCode)
        }
      }
      assert.equal(seen.filter((status) => status === 200).length, REQUESTS)
      assert.equal(seen.at(-1), 429)
      assert.equal((await face().as(keys.sharing).call('GET', '/agent/runs')).status, 200)
    })

    test('a page that is loaded again and again uses the budget of visitors, and is one visit in the audit log', async () => {
      const { db } = face().store
      const link = await linkOf(keys.reloading)
      const cookie = cookieOf(await knock(link))
      const statuses = await Promise.all(
        Array.from({ length: REQUESTS + 1 }, async () => (await knock(link, { cookie })).statusCode),
      )
      assert.equal(statuses.filter((status) => status === 204).length, REQUESTS)
      assert.equal(statuses.filter((status) => status === 429).length, 1)
      const noted = async () =>
        (await listAudit(db, { action: 'POST /web/visits', limit: 100 })).entries.filter(
          ({ target, status }) => target === link.run_id && status === 204,
        ).length
      await until('the entry', async () => (await noted()) > 0)
      assert.equal(await noted(), 1)
    })

    test('visits are begun so often in a minute, and not again by a page that is loaded again', async () => {
      const { db } = face().store
      const link = await linkOf(keys.browsing)
      const rows = async () =>
        Number(
          (
            await sql<{
              count: number
            }>`select count(*) from visits where run_id = ${link.run_id}::uuid`.execute(db)
          ).rows[0]?.count,
        )
      const first = await knock(link)
      for (let count = 0; count < 3; count++)
        assert.equal((await knock(link, { cookie: cookieOf(first) })).statusCode, 204)
      assert.equal(await rows(), 1)
      // As if others had come in the minutes before.
      await sql`
        insert into visits (visit_id, token_hash, run_id, share_link_id, expires_at)
        select ('01980000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, sha256(('v' || n)::bytea), run_id, share_link_id, expires_at
        from visits, generate_series(1, 300) n where run_id = ${link.run_id}::uuid`.execute(db)
      const statuses = await Promise.all(
        Array.from({ length: 125 }, async () => (await knock(link)).statusCode),
      )
      assert.equal(statuses.filter((status) => status === 204).length, 119)
      assert.equal(statuses.filter((status) => status === 429).length, 6)
      assert((await rows()) <= 220, `${await rows()} rows`)
    })

    test('a browser keeps so many visits, so that its headers stay short', async () => {
      const link = await linkOf(keys.cookies)
      const kept = Array.from({ length: 30 }, (_, at) => `runyard_visit_${uuidv7()}=${at}`)
      const answer = await knock(link, { cookie: ['other=1', ...kept].join('; ') })
      const [set, cleared] = [
        answer.cookies.filter(({ value }) => value),
        answer.cookies.filter(({ value }) => !value),
      ]
      assert.deepEqual(
        set.map(({ name }) => name),
        [`runyard_visit_${link.run_id}`],
      )
      assert.deepEqual(
        cleared.map(({ name, maxAge }) => [name, maxAge]),
        kept.slice(0, 11).map((cookie) => [cookie.split('=')[0], 0]),
      )
    })

    test('signing in counts as a request, and ends the oldest sessions of many', async () => {
      const { db } = face().store
      const api = face().as(keys.browsing)
      const authorization = `Bearer ${keys.browsing}`
      const { api_keys } = await api.json<{ api_keys: Array<{ key_id: string }> }>('GET', '/api-keys')
      const key_id = api_keys[0]?.key_id
      await sql`
        insert into web_sessions (token_hash, key_id, expires_at)
        select sha256(('s' || n)::bytea), ${key_id}::uuid, clock_timestamp() + interval '1 hour'
        from generate_series(1, 150) n`.execute(db)
      const statuses: number[] = []
      for (let count = 0; count < REQUESTS; count++) {
        const headers = { ...PAGE, authorization }
        statuses.push((await face().app.inject({ method: 'POST', url: '/web/session', headers })).statusCode)
      }
      assert.deepEqual([statuses[0], statuses.at(-1)], [200, 429])
      const { rows } = await sql<{ count: number }>`
        select count(*) from web_sessions where key_id = ${key_id}::uuid`.execute(db)
      assert.equal(Number(rows[0]?.count), 100)
    })

    test('downloads are so many at once, and are given back', async () => {
      const api = face().as(keys.downloading)
      const run_id = await api.create({ prompt: 'x', config: { worker_host: face().worker.pool } })
      const lease = await face().worker.start(run_id)
      const uid = await face().worker.keep(lease, 'large', 'x'.repeat(8 * 1024 ** 2))
      const { data } = await api.json<{ data: { download_url: string } }>('GET', `/agent/artifacts/${uid}`)
      const url = data.download_url.replace(ORIGIN, await face().listen())
      const held = await Promise.all(Array.from({ length: 40 }, () => fetch(url)))
      const count = (status: number) => held.filter((answer) => answer.status === status).length
      assert.deepEqual([count(200), count(429)], [32, 8])
      await Promise.all(held.map((answer) => answer.body?.cancel()))
      await until('room again', async () => {
        const answer = await fetch(url)
        await answer.body?.cancel()
        return answer.status === 200
      })
    })

    test('addresses of one /64 are one, and refusals of strangers are noted so often in a minute', async () => {
      const { store, app } = face()
      const ask = async (remoteAddress: string) =>
        (await app.inject({ url: '/api/v1/agent/runs', headers: { host: '127.0.0.1' }, remoteAddress }))
          .statusCode
      const near: number[] = []
      for (let count = 0; count < 130; count++) near.push(await ask(`2001:db8:1:2:${count.toString(16)}::7`))
      assert.equal(near.filter((status) => status === 401).length, 120)
      assert.equal(near.at(-1), 429)
      assert.equal(await ask('2001:db8:1:3::7'), 401)
      // As IPv6 sees an IPv4 address: each is a machine of its own.
      assert.equal(await ask('::ffff:192.0.2.7'), 401)
      for (let count = 0; count < 700; count++) await ask(`2001:db8:2:${count.toString(16)}::1`)
      await app.close()
      const { entries } = await listAudit(store.db, { limit: 1 })
      const noted = await sql<{ count: number }>`
        select count(*) from audit_log where address like '2001:%'`.execute(store.db)
      assert(Number(noted.rows[0]?.count) <= 600, `${noted.rows[0]?.count} entries`)
      assert.match(entries[0]?.detail ?? '', /^\d+ more refused requests within a minute/)
    })
  },
  () => ({
    RUNYARD_REQUESTS_PER_MINUTE: String(REQUESTS),
    RUNYARD_CREATES_PER_MINUTE: String(CREATES),
  }),
)
