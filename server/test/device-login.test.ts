/** Logging a program in by the page: OAuth's device authorization grant (RFC 8628), as its clients ask. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { sql } from 'kysely'
import type { AuditEntry } from '../src/contract/audit-log.ts'
import { createPrincipalWithKey, findKey, type NewKey, revokeKey, rotateKey } from '../src/store/api-keys.ts'
import type { Store } from '../src/store/db.ts'
import { removeOldLogins } from '../src/store/device-logins.ts'
import { ORIGIN, openApp } from './support/app.ts'
import { onEitherDatabase } from './support/databases.ts'

const PAGE = { 'x-runyard-page': '1', origin: ORIGIN }
const GRANT = 'urn:ietf:params:oauth:grant-type:device_code'
interface Begun {
  device_code: string
  user_code: string
  verification_uri_complete: string
  interval: number
}

onEitherDatabase('a login by the page', (open) => {
  let store: Store
  let app: FastifyInstance
  let admin: NewKey
  before(async () => {
    store = await open()
    app = openApp(store)
    admin = await createPrincipalWithKey(store.db, { name: 'Ada', role: 'admin' })
  })
  after(() => app?.close())

  const post = async (url: string, form: Record<string, string>, remoteAddress = '127.0.0.1') =>
    app.inject({
      ...{ method: 'POST', url, remoteAddress, payload: new URLSearchParams(form).toString() },
      headers: { host: '127.0.0.1', 'content-type': 'application/x-www-form-urlencoded' },
    })
  let asked = 0
  /** From an address of its own: each may ask for some in a minute. */
  const begin = async (client_name = 'laptop'): Promise<Begun> => {
    asked += 1
    const form = { client_id: 'runyard', client_name }
    const answer = await post('/oauth/device_authorization', form, `198.51.100.${asked}`)
    assert.equal(answer.statusCode, 200, answer.body)
    return answer.json<Begun>()
  }
  const take = (device_code: string, form: Record<string, string> = {}) =>
    post('/oauth/token', { grant_type: GRANT, client_id: 'runyard', device_code, ...form })
  const signIn = async ({ api_key }: NewKey): Promise<Record<string, string>> => {
    const headers = { host: '127.0.0.1', ...PAGE, authorization: `Bearer ${api_key}` }
    const answer = await app.inject({ method: 'POST', url: '/web/session', headers })
    const [cookie] = answer.cookies
    return { host: '127.0.0.1', ...PAGE, cookie: `${cookie?.name}=${cookie?.value}` }
  }
  const read = (user_code: string, headers: Record<string, string>) =>
    app.inject({
      method: 'GET',
      url: `/web/device-login?user_code=${encodeURIComponent(user_code)}`,
      headers,
    })
  const answer = (user_code: string, grant: boolean, headers: Record<string, string>) =>
    app.inject({ method: 'POST', url: '/web/device-login', headers, payload: { user_code, grant } })
  const roleOf = async (api_key: string) => {
    const headers = { host: '127.0.0.1', authorization: `Bearer ${api_key}` }
    const listed = await app.inject({ method: 'GET', url: '/api/v1/api-keys', headers })
    return listed.statusCode
  }

  test('is described for clients as RFC 8414 says', async () => {
    const headers = { host: '127.0.0.1' }
    const told = await app.inject({ method: 'GET', url: '/.well-known/oauth-authorization-server', headers })
    const { issuer, device_authorization_endpoint, token_endpoint, grant_types_supported } = told.json()
    assert.deepEqual(
      { issuer, device_authorization_endpoint, token_endpoint, grant_types_supported },
      {
        issuer: ORIGIN,
        device_authorization_endpoint: `${ORIGIN}/oauth/device_authorization`,
        token_endpoint: `${ORIGIN}/oauth/token`,
        grant_types_supported: [GRANT],
      },
    )
  })

  test('gives a key of the person who allowed it, once', async () => {
    const begun = await begin('Ada’s laptop')
    assert.match(begun.user_code, /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/)
    assert.equal(begun.verification_uri_complete, `${ORIGIN}/device?code=${begun.user_code}`)
    const waiting = await take(begun.device_code)
    assert.deepEqual([waiting.statusCode, waiting.json().error], [400, 'authorization_pending'])

    const ada = await signIn(admin)
    // As somebody types it.
    const typed = ` ${begun.user_code.toLowerCase().replace('-', ' ')}`
    const { login } = (await read(typed, ada)).json()
    assert.deepEqual(
      [login.user_code, login.client_name, login.address],
      [begun.user_code, 'Ada’s laptop', '198.51.100.1'],
    )
    assert.equal((await answer(typed, true, ada)).statusCode, 204)
    assert.equal((await answer(typed, false, ada)).statusCode, 404)

    const answers = await Promise.all([take(begun.device_code), take(begun.device_code)])
    const [given] = answers.filter(({ statusCode }) => statusCode === 200)
    assert(given && answers.some((one) => one.json().error === 'expired_token'))
    assert.equal(given.headers['cache-control'], 'no-store')
    const { access_token, token_type, key_id, role } = given.json()
    assert.deepEqual([token_type, role], ['Bearer', 'admin'])
    const key = await findKey(store.db, key_id)
    assert.deepEqual([key?.principal_id, key?.name], [admin.principal_id, 'login from Ada’s laptop'])
    assert.equal(await roleOf(access_token), 200)

    const headers = { host: '127.0.0.1', authorization: `Bearer ${admin.api_key}` }
    const url = `/api/v1/audit-log?target=${key_id}`
    const [entry] = (await app.inject({ method: 'GET', url, headers })).json<{ entries: AuditEntry[] }>()
      .entries
    assert.deepEqual(
      [entry?.action, entry?.principal_id, entry?.detail],
      ['createApiKey', admin.principal_id, 'admin, for a login from Ada’s laptop'],
    )
  })

  test('that is refused gives nothing', async () => {
    const begun = await begin()
    const ada = await signIn(admin)
    assert.equal((await answer(begun.user_code, false, ada)).statusCode, 204)
    assert.equal((await take(begun.device_code)).json().error, 'access_denied')
    assert.equal((await take(begun.device_code)).json().error, 'expired_token')
  })

  test('gives nothing more than who allowed it has when the key is taken', async () => {
    const viewer = await createPrincipalWithKey(store.db, { name: 'Vi', role: 'viewer' })
    const page = await signIn(viewer)
    const first = await begin()
    assert.equal((await answer(first.user_code, true, page)).statusCode, 204)
    assert.equal((await take(first.device_code)).json().role, 'viewer')
    const second = await begin()
    assert.equal((await answer(second.user_code, true, page)).statusCode, 204)
    await revokeKey(store.db, viewer.key_id)
    assert.equal((await take(second.device_code)).json().error, 'access_denied')
  })

  test('gives a key that ends with the one that allowed it, and is revoked with it', async () => {
    const expires_at = new Date(Date.now() + 3_600_000)
    const lent = await createPrincipalWithKey(store.db, { name: 'Lent', role: 'member', expires_at })
    const begun = await begin()
    assert.equal((await answer(begun.user_code, true, await signIn(lent))).statusCode, 204)
    const { access_token, key_id } = (await take(begun.device_code)).json()
    const key = await findKey(store.db, key_id)
    assert.equal(key?.expires_at?.getTime(), expires_at.getTime())
    // A replacement is no way around it.
    const later = await rotateKey(store.db, key_id)
    assert.equal(await roleOf(access_token), 401)
    assert.equal(await roleOf(later?.api_key ?? ''), 200)
    await revokeKey(store.db, lent.key_id)
    assert.equal(await roleOf(later?.api_key ?? ''), 401)
  })

  test('is over after its ten minutes, and goes', async () => {
    const begun = await begin()
    const ada = await signIn(admin)
    assert.equal((await answer(begun.user_code, true, ada)).statusCode, 204)
    await sql`update device_logins set expires_at = clock_timestamp() - interval '1 second'`.execute(store.db)
    assert.equal((await take(begun.device_code)).json().error, 'expired_token')
    assert.equal((await read(begun.user_code, ada)).statusCode, 404)
    await removeOldLogins(store.db)
    const left = await sql`select 1 from device_logins`.execute(store.db)
    assert.equal(left.rows.length, 0)
  })

  test('is answered by the page of this service alone, for somebody who is signed in', async () => {
    const { user_code } = await begin()
    const ada = await signIn(admin)
    const { cookie: _, ...nobody } = ada
    const { 'x-runyard-page': __, ...by_script } = ada
    for (const [headers, status] of [
      [nobody, 401],
      [by_script, 401],
      [{ ...ada, origin: 'https://evil.test' }, 403],
    ] as const)
      assert.equal((await answer(user_code, true, headers)).statusCode, status)
    assert.equal((await read(user_code, ada)).statusCode, 200)
  })

  test('what is wrong with a request is said', async () => {
    const device_code = 'x'
    for (const [url, form, error] of [
      ['device_authorization', {}, 'invalid_request'],
      ['device_authorization', { client_id: 'a', client_name: 'a\u0000b' }, 'invalid_request'],
      ['device_authorization', { client_id: 'a'.repeat(101) }, 'invalid_request'],
      ['token', { client_id: 'a', device_code }, 'unsupported_grant_type'],
      ['token', { client_id: 'a', device_code, grant_type: 'password' }, 'unsupported_grant_type'],
      ['token', { client_id: 'a', grant_type: GRANT }, 'invalid_request'],
      ['token', { device_code, grant_type: GRANT }, 'invalid_request'],
      ['token', { client_id: 'a', device_code, grant_type: GRANT }, 'expired_token'],
    ] as Array<[string, Record<string, string>, string]>) {
      const refused = await post(`/oauth/${url}`, form)
      assert.deepEqual([refused.statusCode, refused.json().error], [400, error], JSON.stringify(form))
    }
    const headers = { host: '127.0.0.1', 'content-type': 'application/json' }
    const json = await app.inject({ method: 'POST', url: '/oauth/token', headers, payload: {} })
    assert.equal(json.statusCode, 415)
    assert.match(json.body, /content type|Content-Type/i)
    const ada = await signIn(admin)
    for (const code of ['', 'AAAA', 'BCDF-GHJ\u0000', 'x'.repeat(40)])
      assert([400, 404].includes((await read(code, ada)).statusCode), code)
  })

  test('who guesses is held up', async () => {
    const guess = (device_code: string) =>
      post('/oauth/token', { grant_type: GRANT, client_id: 'a', device_code }, '10.1.2.3')
    const statuses = new Set<string>()
    for (let count = 0; count < 130; count += 1) statuses.add((await guess(`x${count}`)).json().error)
    assert.deepEqual([...statuses], ['expired_token', 'slow_down'])
    assert.equal((await take((await begin()).device_code)).json().error, 'authorization_pending')
  })

  test('who asks without a pause is told to slow down', async () => {
    const { device_code } = await begin()
    const told = new Set<string>()
    for (let count = 0; count < 12; count += 1) told.add((await take(device_code)).json().error)
    assert.deepEqual([...told], ['authorization_pending', 'slow_down'])
    // Others are not kept waiting by it.
    assert.equal((await take((await begin()).device_code)).json().error, 'authorization_pending')
  })

  test('one network begins thirty logins in a minute', async () => {
    const ask = (address: string) => post('/oauth/device_authorization', { client_id: 'a' }, address)
    for (let count = 0; count < 30; count += 1)
      assert.equal((await ask(`2001:db8:7:${count}::1`)).statusCode, 200)
    const refused = await ask('2001:db8:7:99::1')
    assert.equal(refused.statusCode, 429)
    assert(Number(refused.headers['retry-after']) > 0)
    assert.equal((await ask('2001:db8:8::1')).statusCode, 200)
    assert.equal((await ask('203.0.113.8')).statusCode, 200)
  })
})
