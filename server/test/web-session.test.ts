/** Signing in to the page, by key and by link, and what its cookie is good for. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { FastifyInstance, LightMyRequestResponse } from 'fastify'
import { sql } from 'kysely'
import type { AuditEntry } from '../src/contract/audit-log.ts'
import { createPrincipalWithKey, type NewKey, revokeKey, rotateKey } from '../src/store/api-keys.ts'
import type { Store } from '../src/store/db.ts'
import { removeOldSignInLinks } from '../src/store/sign-in-links.ts'
import { removeOldWebSessions } from '../src/store/web-sessions.ts'
import { ORIGIN, openApp } from './support/app.ts'
import { onEitherDatabase } from './support/databases.ts'
import { addRun } from './support/stored.ts'

const PAGE = { 'x-runyard-page': '1', origin: ORIGIN }
type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

onEitherDatabase('the session of the page', (open) => {
  let store: Store
  let app: FastifyInstance
  let admin: NewKey
  before(async () => {
    store = await open()
    app = openApp(store)
    admin = await createPrincipalWithKey(store.db, { name: 'Ada', role: 'admin' })
  })
  after(() => app?.close())

  const ask = (method: Method, url: string, headers: Record<string, string>, payload?: object) =>
    app.inject({ method, url, headers: { host: '127.0.0.1', ...headers }, ...(payload ? { payload } : {}) })
  const bearer = ({ api_key }: NewKey) => ({ authorization: `Bearer ${api_key}` })
  const signIn = (headers: Record<string, string>, payload?: object) =>
    ask('POST', '/web/session', { ...PAGE, ...headers }, payload)
  const cookieOf = (answer: LightMyRequestResponse): string =>
    `${answer.cookies[0]?.name}=${answer.cookies[0]?.value}`
  const signedIn = async (key: NewKey): Promise<{ cookie: string }> => {
    const answer = await signIn(bearer(key))
    assert.equal(answer.statusCode, 200, answer.body)
    return { cookie: cookieOf(answer) }
  }
  const statusOf = async (headers: Record<string, string>, url = '/api/v1/agent/runs') =>
    (await ask('GET', url, headers)).statusCode
  const linkOf = async (key: NewKey, body: object = {}): Promise<{ url: string; token: string }> => {
    const answer = await ask('POST', '/api/v1/agent/sign-in-links', bearer(key), body)
    assert.equal(answer.statusCode, 201, answer.body)
    const { url } = answer.json<{ url: string }>()
    return { url, token: new URLSearchParams(new URL(url).hash.slice(1)).get('token') ?? '' }
  }

  test('a key is traded for a cookie that does what the key does', async () => {
    const answer = await signIn(bearer(admin))
    const [cookie] = answer.cookies
    assert(cookie)
    const { value, expires, ...said } = cookie
    assert.deepEqual(said, {
      ...{ name: 'runyard_session', path: '/', httpOnly: true, sameSite: 'Strict', maxAge: 43_200 },
    })
    assert.match(value, /^[\w-]{43}$/)
    const { session } = answer.json()
    const { expires_at, ...who } = session
    assert.deepEqual(who, {
      principal: { uid: admin.principal_id, name: 'Ada', type: 'user' },
      ...{ role: 'admin', key_id: admin.key_id, key_name: 'Ada' },
    })
    const hours = (Date.parse(expires_at) - Date.now()) / 3_600_000
    assert(hours > 11.9 && hours <= 12, `it lasts ${hours} hours`)

    const page = { ...PAGE, cookie: cookieOf(answer) }
    assert.deepEqual((await ask('GET', '/web/session', page)).json(), { session })
    const made = await ask('PUT', '/api/v1/agent/secrets/BY_PAGE', page, { value: 'a good value' })
    assert.equal(made.statusCode, 200, made.body)
    // Browsers send no Origin with a GET of the same origin.
    assert.equal(await statusOf({ 'x-runyard-page': '1', cookie: page.cookie }), 200)
    const stored = await sql`select * from web_sessions`.execute(store.db)
    assert(!JSON.stringify(stored.rows).includes(value), 'only its hash is stored')
  })

  test('a link signs in once, and shows what it was made for', async () => {
    const link = await linkOf(admin, { path: '/sessions/x?a=b' })
    assert.equal(link.url, `${ORIGIN}/sign-in#token=${link.token}&to=%2Fsessions%2Fx%3Fa%3Db`)
    const answers = await Promise.all([1, 2].map(() => signIn({}, { token: link.token, confirm: true })))
    assert.deepEqual(answers.map(({ statusCode }) => statusCode).sort(), [200, 401])
    assert.equal((await signIn({}, { token: link.token, confirm: true })).statusCode, 401)
    const good = answers.find(({ statusCode }) => statusCode === 200)
    assert(good)
    assert.equal(await statusOf({ ...PAGE, cookie: cookieOf(good) }), 200)
  })

  test('a link is over after 60 seconds, and with its key', async () => {
    const age = (seconds: number) =>
      sql`update sign_in_links set expires_at = expires_at - ${seconds} * interval '1 second'`.execute(
        store.db,
      )
    const [young, old] = [await linkOf(admin), await linkOf(admin)]
    await age(50)
    assert.equal((await signIn({}, { token: young.token, confirm: true })).statusCode, 200)
    await age(10)
    assert.equal((await signIn({}, { token: old.token, confirm: true })).statusCode, 401)
    const leaver = await createPrincipalWithKey(store.db, { name: 'Bob', role: 'viewer' })
    const left = await linkOf(leaver)
    await revokeKey(store.db, leaver.key_id)
    assert.equal((await signIn({}, { token: left.token, confirm: true })).statusCode, 401)
    await linkOf(admin)
    await age(60)
    await removeOldSignInLinks(store.db)
    assert.equal((await sql`select 1 from sign_in_links`.execute(store.db)).rows.length, 0)
  })

  test('a link leads to this service only', async () => {
    for (const path of ['https://elsewhere.example', '//elsewhere.example', '/\\elsewhere', 'runs', '/a b'])
      assert.equal(
        (await ask('POST', '/api/v1/agent/sign-in-links', bearer(admin), { path })).statusCode,
        400,
        path,
      )
  })

  test('a link signs nobody in unasked', async () => {
    const bob = await createPrincipalWithKey(store.db, { name: 'Bob', role: 'member' })
    const here = await signedIn(admin)
    const { token } = await linkOf(bob)
    const refused = await signIn(here, { token })
    assert.deepEqual([refused.statusCode, refused.cookies], [409, []])
    assert.equal(refused.json().detail, `Sign in as Bob on ${new URL(ORIGIN).host}?`)
    // Nor does it give one to a browser that has none.
    const unasked = await signIn({}, { token })
    assert.deepEqual([unasked.statusCode, unasked.cookies], [409, []])
    assert.equal(await statusOf({ ...PAGE, ...here }), 200)
    // One's own needs no asking, and the other one is still good.
    assert.equal(
      (await signIn(await signedIn(admin), { token: (await linkOf(admin)).token })).statusCode,
      200,
    )
    const changed = await signIn(here, { token, confirm: true })
    assert.equal(changed.json().session.principal.name, 'Bob')
    assert.equal(await statusOf({ ...PAGE, ...here }), 401)
  })

  test('an admin makes a link for another person, who has a day for it', async () => {
    const eli = await createPrincipalWithKey(store.db, { name: 'Eli', role: 'member' })
    const { principal_id } = eli
    const ask_for = (key: NewKey, id = principal_id) =>
      ask('POST', '/api/v1/agent/sign-in-links', bearer(key), { principal_id: id })
    const made = await ask_for(admin)
    assert.equal(made.statusCode, 201, made.body)
    const { url, expires_at } = made.json<{ url: string; expires_at: string }>()
    assert(Date.parse(expires_at) - Date.now() > 23 * 3_600_000)
    const token = new URL(url).hash.replace('#token=', '')
    const { session } = (await signIn({}, { token, confirm: true })).json()
    assert.deepEqual([session.principal.name, session.role, session.key_id], ['Eli', 'member', eli.key_id])
    assert.equal((await signIn({}, { token })).statusCode, 401)
    assert.equal((await ask_for(eli, admin.principal_id)).statusCode, 403)
    assert.equal((await ask_for(eli)).statusCode, 201)
    await revokeKey(store.db, eli.key_id)
    assert.equal((await ask_for(admin)).statusCode, 400)
    const leaked = await createPrincipalWithKey(store.db, { name: 'Eve', role: 'admin' })
    await rotateKey(store.db, leaked.key_id, { grace_ms: 60_000 })
    assert.equal((await ask_for(leaked, admin.principal_id)).statusCode, 403)
  })

  test('a lost answer is given again, and the link is nowhere in clear', async () => {
    const headers = { ...bearer(admin), 'idempotency-key': 'lost' }
    const [first, again] = [
      await ask('POST', '/api/v1/agent/sign-in-links', headers, {}),
      await ask('POST', '/api/v1/agent/sign-in-links', headers, {}),
    ]
    assert.equal(again.headers['idempotent-replayed'], 'true')
    assert.deepEqual(again.json(), first.json())
    const token = new URL(first.json().url).hash.replace('#token=', '')
    const { rows } = await sql<{ kept: string }>`
      select string_agg(response::text, ' ') as kept from idempotency_keys`.execute(store.db)
    assert(!rows[0]?.kept.includes(token))
  })

  test('a session ends with its key, after 12 hours and by signing out', async () => {
    const ada = await createPrincipalWithKey(store.db, { name: 'Eve', role: 'member' })
    const [first, second] = [await signedIn(ada), await signedIn(ada)]
    assert.equal(await statusOf({ ...PAGE, ...first }), 200)
    const out = await ask('DELETE', '/web/session', { ...PAGE, ...first })
    assert.equal(out.statusCode, 204)
    assert.deepEqual([out.cookies[0]?.value, out.cookies[0]?.maxAge], ['', 0])
    assert.deepEqual(
      [await statusOf({ ...PAGE, ...first }), await statusOf({ ...PAGE, ...second })],
      [401, 200],
    )

    // Another key in its place, and the old one still works: the session ends when that does.
    await rotateKey(store.db, ada.key_id, { grace_ms: 600_000 })
    const { session } = (await ask('GET', '/web/session', { ...PAGE, ...second })).json()
    assert(Date.parse(session.expires_at) - Date.now() <= 600_000)
    await revokeKey(store.db, ada.key_id)
    assert.equal(await statusOf({ ...PAGE, ...second }), 401)
    assert.equal(await statusOf({ ...PAGE, ...second }, '/web/session'), 401)

    const third = await signedIn(admin)
    const age = (hours: number) =>
      sql`update web_sessions set expires_at = expires_at - ${hours} * interval '1 hour'`.execute(store.db)
    await age(11.9)
    assert.equal(await statusOf({ ...PAGE, ...third }), 200)
    await age(0.1)
    assert.equal(await statusOf({ ...PAGE, ...third }), 401)
    await removeOldWebSessions(store.db)
    assert.equal((await sql`select 1 from web_sessions`.execute(store.db)).rows.length, 0)
  })

  test('signing in again ends the session before', async () => {
    const before = await signedIn(admin)
    const answer = await signIn({ ...bearer(admin), ...before })
    assert.equal(answer.statusCode, 200)
    assert.equal(await statusOf({ ...PAGE, ...before }), 401)
  })

  test('only the page of this origin signs in, asks and writes', async () => {
    const session = await signedIn(admin)
    const token = (await linkOf(admin)).token
    const refused: Array<[Record<string, string>, number]> = [
      [{ origin: ORIGIN }, 401],
      [{ 'x-runyard-page': '1' }, 403],
      [{ ...PAGE, origin: 'https://elsewhere.example' }, 403],
      [{ ...PAGE, origin: 'null' }, 403],
      [{ ...PAGE, 'sec-fetch-site': 'cross-site' }, 403],
      [{ ...PAGE, 'sec-fetch-site': 'same-site' }, 403],
    ]
    for (const [headers, status] of refused) {
      const with_cookie = { ...headers, ...session }
      const made = await ask('POST', '/api/v1/agent/runs', with_cookie, { prompt: 'x' })
      const left = await ask('DELETE', '/web/session', with_cookie)
      const came = await ask('POST', '/web/session', headers, { token })
      assert.deepEqual(
        [made.statusCode, left.statusCode, came.statusCode],
        [status, status, status],
        JSON.stringify(headers),
      )
    }
    assert.equal(
      (await signIn({}, { token, confirm: true })).statusCode,
      200,
      'what was refused has used nothing up',
    )
    assert.equal(await statusOf({ ...PAGE, ...session }), 200)
  })

  test('a cookie has the role of its key', async () => {
    const viewer = await createPrincipalWithKey(store.db, { name: 'Vic', role: 'viewer' })
    const page = { ...PAGE, ...(await signedIn(viewer)) }
    assert.equal(await statusOf(page), 200)
    assert.equal((await ask('POST', '/api/v1/agent/runs', page, { prompt: 'x' })).statusCode, 403)
    assert.equal(await statusOf(page, '/api/v1/audit-log'), 403)
    const personal = await addRun(store.db, admin.principal_id, { scope: 'User' })
    assert.equal(await statusOf(page, `/api/v1/agent/runs/${personal}`), 404)
  })

  test('on https the cookie is secure and of this host alone', async () => {
    const secure = openApp(store, { RUNYARD_PUBLIC_URL: 'https://runs.example' })
    try {
      const answer = await secure.inject({
        ...{ method: 'POST', url: '/web/session' },
        headers: { ...PAGE, ...bearer(admin), host: 'runs.example', origin: 'https://runs.example' },
      })
      const [cookie] = answer.cookies
      assert.deepEqual(
        [cookie?.name, cookie?.secure, cookie?.path, cookie?.domain],
        ['__Host-runyard_session', true, '/', undefined],
      )
    } finally {
      await secure.close()
    }
  })

  test('guesses are limited for each address, and what is right goes on', async () => {
    const guess = async (): Promise<number> => (await signIn({}, { token: 'A'.repeat(43) })).statusCode
    const seen = new Set<number>()
    for (let n = 0; n < 130; n++) seen.add(await guess())
    assert.deepEqual([...seen], [401, 429])
    assert.equal((await signIn(bearer(admin))).statusCode, 200)
  })

  test('links, signing in and signing out are in the audit log', async () => {
    const bob = await createPrincipalWithKey(store.db, { name: 'Bo', role: 'viewer' })
    const { token } = await linkOf(bob)
    const answer = await signIn({}, { token, confirm: true })
    await ask('DELETE', '/web/session', { ...PAGE, cookie: cookieOf(answer) })
    const read = async (): Promise<AuditEntry[]> => {
      const url = `/api/v1/audit-log?principal_id=${bob.principal_id}`
      return (await ask('GET', url, bearer(admin))).json().entries
    }
    // They are written behind their answers.
    const deadline = Date.now() + 20_000
    while ((await read()).length < 3) assert(Date.now() < deadline)
    const entries = await read()
    assert.deepEqual(
      entries.map(({ action, key_id, status }) => [action, key_id, status]),
      [
        ['DELETE /web/session', bob.key_id, 204],
        ['POST /web/session', bob.key_id, 200],
        ['createSignInLink', bob.key_id, 201],
      ],
    )
    assert(!JSON.stringify(entries).includes(token))
  })
})
