/** Keys over HTTP: who may make, see, rotate and revoke which, and what is left of them in the database. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ApiKey, NewApiKey } from '../src/contract/api-key.ts'
import type { AuditEntry } from '../src/contract/audit-log.ts'
import type { PageInfo } from '../src/contract/page-info.ts'
import { onFace } from './support/face.ts'
import type { apiOf } from './support/service.ts'

type Body = Record<string, unknown>
type Api = ReturnType<typeof apiOf>

onFace('API keys', (service) => {
  const as = (api_key: string): Api => service().as(api_key)
  const create = (body: Body): Promise<NewApiKey> => service().admin.json('POST', '/api-keys', body)
  const list = async (api: Api, query = ''): Promise<ApiKey[]> =>
    (await api.json<{ api_keys: ApiKey[] }>('GET', `/api-keys?limit=500${query}`)).api_keys
  /** Newest first, one a page. */
  const pagesOf = async (api: Api): Promise<string[]> => {
    const ids: string[] = []
    for (let cursor: string | undefined = ''; cursor !== undefined; ) {
      const path = `/api-keys?limit=1${cursor && `&cursor=${cursor}`}`
      const page: { api_keys: ApiKey[]; page_info: PageInfo } = await api.json('GET', path)
      ids.push(...page.api_keys.map(({ key_id }) => key_id))
      cursor = page.page_info.next_cursor
    }
    return ids
  }
  const refused = async (answer: Response, status: number, text: RegExp): Promise<void> => {
    const said = await answer.text()
    assert.equal(answer.status, status, said)
    assert.match(said, text)
  }
  const whoOf = async (api: Api): Promise<string> => (await list(api))[0]?.principal.uid ?? ''

  test('a key is shown once, masked ever after, and works until it is revoked', async () => {
    const { admin } = service()
    const { api_key, ...made } = await create({ name: 'Ada', new_user: true })
    assert.match(api_key, /^ry_[A-Za-z0-9]{46}$/)
    assert.equal(made.role, 'member')
    assert.equal(made.active, true)
    assert.deepEqual(made.principal, { uid: made.principal.uid, type: 'user', display_name: 'Ada' })
    const ada = as(api_key)
    assert.equal((await ada.call('GET', '/agent/runs')).status, 200)
    const seen = (await list(admin)).find(({ key_id }) => key_id === made.key_id)
    assert.deepEqual({ ...seen, last_used_at: undefined }, { ...made, last_used_at: undefined })
    assert(seen?.last_used_at)
    assert.doesNotMatch(JSON.stringify(await list(admin)), new RegExp(api_key))

    const revoked = await admin.json<ApiKey>('DELETE', `/api-keys/${made.key_id}`)
    assert.equal(revoked.active, false)
    assert(revoked.revoked_at)
    assert.equal((await ada.call('GET', '/agent/runs')).status, 401)
    await refused(await admin.call('DELETE', `/api-keys/${made.key_id}`), 409, /revoked/)
  })

  test('for whom a key is', async () => {
    const { admin } = service()
    const own = await create({ name: 'one more' })
    assert.equal(own.principal.uid, await whoOf(as(own.api_key)))
    const first = await create({ name: 'Bo', new_user: true, role: 'viewer' })
    const second = await create({ name: 'laptop', principal_id: first.principal.uid })
    assert.deepEqual([second.name, second.principal], ['laptop', first.principal])
    const nobody = '01980000-0000-7000-8000-000000000001'
    for (const [body, text] of [
      [{ name: 'x', principal_id: nobody }, /principal_id: there is nobody/],
      [{ name: 'x', agent_identity_uid: first.principal.uid }, /agent_identity_uid: there is nobody/],
      [{ name: 'x', new_user: true, principal_id: nobody }, /at most one of/],
      [{ name: '' }, /name/],
      [{ name: 'x', role: 'owner' }, /role/],
      [{ name: 'x', expires_at: '2020-01-01T00:00:00Z' }, /expires_at: must be in the future/],
      [{ name: 'x', expires: '2120-01-01T00:00:00Z' }, /expires/],
    ] as const)
      await refused(await admin.call('POST', '/api-keys', body), 400, text)
  })

  test('others see, rotate and revoke the keys of their own principal, and no stronger ones', async () => {
    const { admin, other } = service()
    const member = await create({ name: 'Cy', new_user: true })
    const principal_id = member.principal.uid
    const viewer = await create({ name: 'Cy reads', principal_id, role: 'viewer' })
    const stranger = (await list(other))[0]?.key_id ?? ''
    for (const key of [member, viewer]) {
      const api = as(key.api_key)
      assert.deepEqual(
        (await list(api)).map(({ key_id }) => key_id),
        [viewer.key_id, member.key_id],
      )
      assert.equal((await list(api, `&principal_id=${principal_id}`)).length, 2)
      const [newest, older] = await pagesOf(api)
      assert.deepEqual([newest, older], [viewer.key_id, member.key_id])
      await refused(await api.call('GET', `/api-keys?principal_id=${await whoOf(other)}`), 403, /only admins/)
      await refused(await api.call('POST', '/api-keys', { name: 'x' }), 403, /role admin/)
      // As if it were not there.
      await refused(await api.call('DELETE', `/api-keys/${stranger}`), 404, /no key/)
      await refused(await api.call('POST', `/api-keys/${stranger}/rotate`, {}), 404, /no key/)
    }
    const reads = as(viewer.api_key)
    await refused(await reads.call('DELETE', `/api-keys/${member.key_id}`), 403, /role viewer/)
    await refused(await reads.call('POST', `/api-keys/${member.key_id}/rotate`, {}), 403, /role viewer/)
    const next = await reads.json<NewApiKey>('POST', `/api-keys/${viewer.key_id}/rotate`, {
      grace_minutes: 0,
    })
    assert.deepEqual([next.role, next.principal.uid], ['viewer', principal_id])
    assert.equal((await reads.call('GET', '/api-keys')).status, 401)
    assert.equal(
      (await as(member.api_key).call('DELETE', `/api-keys/${next.key_id}`)).status,
      200,
      'a member may end a viewer’s',
    )
    // The old key is refused at once, or works for its grace.
    const rotated = await admin.json<NewApiKey>('POST', `/api-keys/${member.key_id}/rotate`)
    const old = (await list(admin)).find(({ key_id }) => key_id === member.key_id)
    assert.equal(old?.active, true)
    const left_ms = Date.parse(old?.grace_until ?? '') - Date.now()
    assert(left_ms > 4 * 60_000 && left_ms <= 5 * 60_000, `${left_ms} ms are left`)
    assert.equal((await as(rotated.api_key).call('GET', '/agent/runs')).status, 200)
  })

  test('a key that was replaced makes no more of its kind', async () => {
    const { admin } = service()
    const first = await create({ name: 'Jo', new_user: true })
    const own = as(first.api_key)
    const repeated = { 'idempotency-key': 'jo' }
    const rotate = (headers = {}) =>
      own.call('POST', `/api-keys/${first.key_id}/rotate`, { grace_minutes: 43_200 }, headers)
    const next = (await (await rotate(repeated)).json()) as NewApiKey
    // Both work, and whoever has the old one could have any number of keys otherwise.
    await refused(await rotate(), 409, /was replaced already/)
    assert.equal((await list(own)).filter(({ active }) => active).length, 2)
    const again = (await (await rotate(repeated)).json()) as NewApiKey
    assert.equal(again.api_key, next.api_key)
    // Without grace it ends at once, and the new one goes on.
    await refused(
      await admin.call('POST', `/api-keys/${first.key_id}/rotate`, { grace_minutes: 0 }),
      409,
      /was replaced already/,
    )
    assert.equal((await own.call('DELETE', `/api-keys/${first.key_id}`)).status, 200)
    assert.equal((await as(next.api_key).call('GET', '/agent/runs')).status, 200)
  })

  test('one grace runs at a time, and the newest of a row of keys ends them all', async () => {
    const { admin } = service()
    const works = async ({ api_key }: NewApiKey) => (await as(api_key).call('GET', '/agent/runs')).status
    const rotate = (key: NewApiKey) =>
      as(key.api_key).json<NewApiKey>('POST', `/api-keys/${key.key_id}/rotate`, { grace_minutes: 60 })
    const first = await create({ name: 'Kim', new_user: true })
    const second = await rotate(first)
    assert.equal(second.replaces, first.key_id)
    assert.deepEqual([await works(first), await works(second)], [200, 200])
    const third = await rotate(second)
    assert.deepEqual([await works(first), await works(second), await works(third)], [401, 200, 200])
    assert.equal((await admin.call('DELETE', `/api-keys/${third.key_id}`)).status, 200)
    assert.deepEqual([await works(second), await works(third)], [401, 401])
  })

  test('whoever still has a key that was replaced does nothing to the one in its place', async () => {
    const { admin } = service()
    for (const role of ['viewer', 'member', 'admin']) {
      const leaked = await create({ name: 'Pat', new_user: true, role })
      const thief = as(leaked.api_key)
      const next = await admin.json<NewApiKey>('POST', `/api-keys/${leaked.key_id}/rotate`)
      assert.equal((await thief.call('GET', '/agent/runs')).status, 200, 'it has its grace')
      for (const [method, path, body] of [
        ['POST', `/api-keys/${next.key_id}/rotate`, {}],
        ['DELETE', `/api-keys/${next.key_id}`],
        ...(role === 'admin' ? [['POST', '/api-keys', { name: 'x' }] as const] : []),
      ] as const)
        await refused(await thief.call(method, path, body), 403, /This key was replaced/)
      assert.equal((await as(next.api_key).call('GET', '/agent/runs')).status, 200)
      assert.equal((await thief.call('DELETE', `/api-keys/${leaked.key_id}`)).status, 200)
      assert.equal((await admin.call('DELETE', `/api-keys/${next.key_id}`)).status, 200)
    }
  })

  test('the last admin key that works is not revoked', async () => {
    const { admin } = service()
    const admins = (await list(admin)).filter(({ role, active }) => role === 'admin' && active)
    // The first of its principal is the one that asks.
    const own = (await list(admin, `&principal_id=${await ownPrincipal(admin)}`)).at(-1)
    // What other tests made.
    for (const { key_id } of admins)
      if (key_id !== own?.key_id)
        assert.equal((await admin.call('DELETE', `/api-keys/${key_id}`)).status, 200)
    await refused(await admin.call('DELETE', `/api-keys/${own?.key_id}`), 409, /last admin key.*runyard keys/)
    // One that ends some day does not stand in for one that does not.
    const passing = await create({ name: 'passing', role: 'admin', expires_at: '2999-01-01T00:00:00Z' })
    await refused(await admin.call('DELETE', `/api-keys/${own?.key_id}`), 409, /last admin key/)
    assert.equal((await admin.call('DELETE', `/api-keys/${passing.key_id}`)).status, 200)
    const second = await create({ name: 'second', role: 'admin' })
    const both = [own?.key_id, second.key_id].map((key_id) => admin.call('DELETE', `/api-keys/${key_id}`))
    const statuses = (await Promise.all(both)).map(({ status }) => status).sort()
    assert.equal(statuses[0], 200)
    assert.notEqual(statuses[1], 200, 'of two at once one stays')
    // The others need one.
    const left = [service().keys.admin, second.api_key]
    const works = await Promise.all(left.map(async (key) => (await as(key).call('GET', '/api-keys')).status))
    assert.deepEqual(works.sort(), [200, 401])
  })

  /** Of the key that asks: it made an entry with this request. */
  async function ownPrincipal(api: Api): Promise<string> {
    const id = `own-${Math.random().toString(36).slice(2)}`
    await api.call('GET', '/agent/runs/nothing', undefined, { 'x-request-id': id })
    const { entries } = await api.json<{ entries: AuditEntry[]; page_info: PageInfo }>('GET', '/audit-log')
    return entries.find(({ request_id }) => request_id === id)?.principal_id ?? ''
  }
})
