/** Runs that people without a key may look at: by the link of a run that allows it, and by share links. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { ApiKey } from '../src/contract/api-key.ts'
import type { AuditEntry } from '../src/contract/audit-log.ts'
import type { RouteDefinition } from '../src/contract/route.ts'
import { type OperationId, ROUTES } from '../src/contract/routes.ts'
import type { RunItem } from '../src/contract/run.ts'
import type { ListShareLinksResponse } from '../src/contract/share-link.ts'
import { revokeKey } from '../src/store/api-keys.ts'
import { ORIGIN } from './support/app.ts'
import { onFace } from './support/face.ts'
import { makeKeys } from './support/seed-keys.ts'

const NOWHERE = '01980000-0000-7000-8000-000000000001'
const PUBLIC = { session_sharing: { public_access: 'VIEWER' } }
const STREAM_ENDS_MS = 60_000
interface Link {
  share_link_id: string
  url: string
}

onFace('visits', (face) => {
  let keys: Record<'admin' | 'owner' | 'other' | 'leaver' | 'viewer', string>
  let mine: string
  let neighbour: string
  let artifact_of_mine: string
  let artifact_of_neighbour: string
  const as = (who: keyof typeof keys) => face().as(keys[who])

  before(async () => {
    const { store, worker } = face()
    keys = await makeKeys(store.db, {
      admin: { role: 'admin' },
      owner: { role: 'member' },
      other: { role: 'member' },
      leaver: { role: 'member' },
      viewer: { role: 'viewer' },
    })
    // Personal, and of one conversation.
    const personal = async (word: string, more: object = {}) => {
      const body = { prompt: `Say ${word}.`, team: false, config: { worker_host: worker.pool }, ...more }
      const run_id = await as('owner').create(body)
      const lease = await worker.start(run_id)
      const artifact = await worker.keep(lease, word, `${word}\n`)
      await worker.end(lease)
      return { run_id, artifact }
    }
    ;({ run_id: mine, artifact: artifact_of_mine } = await personal('seen'))
    ;({ run_id: neighbour, artifact: artifact_of_neighbour } = await personal('unseen', {
      conversation_id: mine,
    }))
  })

  const share = (run_id: string, body: object = {}, who: keyof typeof keys = 'owner') =>
    as(who).json<Link>('POST', `/agent/runs/${run_id}/share-links`, body)
  const tokenOf = ({ url }: { url: string }) => new URL(url).hash.replace('#access=', '')
  const knock = (run_id: string, token: string, headers: Record<string, string> = {}) =>
    face().fetch(`${ORIGIN}/web/visits`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: ORIGIN, 'x-runyard-page': '1', ...headers },
      body: JSON.stringify({ run_id, token }),
    })
  const enter = async (run_id: string, token: string): Promise<Record<string, string>> => {
    const answer = await knock(run_id, token)
    assert.equal(answer.status, 204, await answer.text())
    const [cookie = ''] = answer.headers.getSetCookie()
    assert.match(
      cookie,
      new RegExp(`^runyard_visit_${run_id}=[\\w-]{43}; Max-Age=43200; Path=/; HttpOnly; SameSite=Strict$`),
    )
    return { cookie: cookie.split(';')[0] ?? '', 'x-runyard-page': `visit ${run_id}`, origin: ORIGIN }
  }
  const readJson = async <T>(path: string, headers: Record<string, string>): Promise<T> =>
    (await read(path, headers)).json() as Promise<T>
  const read = (path: string, headers: Record<string, string>) =>
    face().fetch(face().base_url + path, { headers, redirect: 'manual' })

  test('a visitor sees one run whole, and its links hold no longer than the visit', async () => {
    const { fetch } = face()
    const visitor = await enter(mine, tokenOf(await share(mine)))
    const run = await readJson<RunItem>(`/agent/runs/${mine}`, visitor)
    assert.equal(run.run_id, mine)
    assert.equal(run.session_link, `${ORIGIN}/sessions/${mine}`)
    const { events } = await readJson<{ events: unknown[] }>(`/agent/runs/${mine}/events`, visitor)
    assert.equal(events.length, (await as('owner').events(mine)).length)
    const { data } = await readJson<{ data: { download_url: string } }>(
      `/agent/artifacts/${artifact_of_mine}`,
      visitor,
    )
    assert.equal(await (await fetch(data.download_url)).text(), 'seen\n')
    assert.equal((await read(`/agent/runs/${mine}/diff`, visitor)).status, 200)
    const transcript = await read(`/agent/runs/${mine}/transcript`, visitor)
    assert.equal((await fetch(transcript.headers.get('location') ?? '')).status, 200)
    const conversation = await (await read(`/agent/runs/${mine}/conversation`, visitor)).text()
    assert.match(conversation, /Say seen/)
    assert.doesNotMatch(conversation, /unseen/, 'another run of the conversation is not the visitor’s')
    // Browsers send no Origin with a GET of the same origin.
    const { origin: _, ...without } = visitor
    assert.equal((await read(`/agent/runs/${mine}`, without)).status, 200)
  })

  test('everything else is closed to a visitor, whatever is asked', async () => {
    const { base_url, fetch } = face()
    const visitor = await enter(mine, tokenOf(await share(mine)))
    const seen: Record<string, number> = {}
    const ids: Record<string, string> = { run_id: neighbour, artifact_uid: artifact_of_neighbour }
    for (const [id, route] of Object.entries(ROUTES) as Array<[OperationId, RouteDefinition]>) {
      if (route.is_public) continue
      const path = route.path.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? NOWHERE)
      const answer = await fetch(base_url + path, { method: route.method, headers: visitor })
      await answer.body?.cancel()
      seen[id] = answer.status
      assert.equal(answer.status, route.for_visitors ? 404 : 403, id)
    }
    assert.equal(seen.listRuns, 403)
    for (const rest of ['/followups', '/cancel', '/interrupt', '/share-links']) {
      const answer = await fetch(`${base_url}/agent/runs/${mine}${rest}`, {
        method: 'POST',
        headers: { ...visitor, 'content-type': 'application/json' },
        body: '{"message": "x"}',
      })
      assert.equal(answer.status, 403, rest)
    }
    assert.equal((await read(`/agent/runs/${mine}/share-links`, visitor)).status, 403)
    assert.equal((await read(`/agent/runs/${mine}/handoff/attachments`, visitor)).status, 403)
  })

  test('a visit is of its run, and by its page alone', async () => {
    const visitor = await enter(mine, tokenOf(await share(mine)))
    const value = visitor.cookie?.split('=')[1]
    const asked: Array<[Record<string, string>, number]> = [
      [{ cookie: visitor.cookie ?? '' }, 401],
      [{ ...visitor, 'x-runyard-page': '1' }, 401],
      [{ ...visitor, 'x-runyard-page': `visit ${neighbour}` }, 401],
      [
        {
          'x-runyard-page': `visit ${neighbour}`,
          cookie: `runyard_visit_${neighbour}=${value}`,
          origin: ORIGIN,
        },
        401,
      ],
      [{ ...visitor, 'x-runyard-page': '1', cookie: `runyard_session=${value}` }, 401],
      [{ ...visitor, origin: 'https://elsewhere.example' }, 403],
      [{ ...visitor, 'sec-fetch-site': 'cross-site' }, 403],
    ]
    for (const [headers, status] of asked)
      for (const run_id of [mine, neighbour])
        assert.equal((await read(`/agent/runs/${run_id}`, headers)).status, status, JSON.stringify(headers))
  })

  test('a share link opens its run only, from its own page, and is shown once', async () => {
    const link = await share(mine, { name: 'For Ada' })
    const token = tokenOf(link)
    assert.equal(link.url, `${ORIGIN}/sessions/${mine}#access=${token}`)
    assert.equal((await knock(neighbour, token)).status, 401)
    assert.equal((await knock(mine, `${token}A`)).status, 401)
    assert.equal((await knock(mine, token, { origin: 'https://elsewhere.example' })).status, 403)
    assert.equal((await knock(NOWHERE, token)).status, 401)
    const list = () =>
      as('owner').json<{ share_links: Array<Record<string, unknown>> }>(
        'GET',
        `/agent/runs/${mine}/share-links`,
      )
    const find = async () =>
      (await list()).share_links.find(({ share_link_id }) => share_link_id === link.share_link_id)
    assert.equal((await find())?.last_used_at, undefined)
    await enter(mine, token)
    const listed = await find()
    assert.equal(listed?.name, 'For Ada')
    assert(listed?.last_used_at)
    assert(!JSON.stringify(await list()).includes(token))
  })

  test('links are listed page by page, oldest first, also while others are made and revoked', async () => {
    const run_id = await as('owner').create({ prompt: 'x', config: { worker_host: 'nobody' } })
    const made: string[] = []
    for (let index = 0; index < 5; index++) made.push((await share(run_id)).share_link_id)
    const path = `/agent/runs/${run_id}/share-links`
    const page = (query: string) => as('owner').json<ListShareLinksResponse>('GET', `${path}?${query}`)
    const idsOf = ({ share_links }: ListShareLinksResponse) =>
      share_links.map(({ share_link_id }) => share_link_id)
    const first = await page('limit=2')
    assert.deepEqual(idsOf(first), made.slice(0, 2))
    await as('owner').json('DELETE', `${path}/${made[1]}`)
    const second = await page(`limit=2&cursor=${first.page_info.next_cursor}`)
    assert.deepEqual(idsOf(second), made.slice(2, 4))
    const third = await page(`limit=1&cursor=${second.page_info.next_cursor}`)
    assert.deepEqual([idsOf(third), third.page_info], [made.slice(4), { has_next_page: false }])
    // A cursor is a place in ids, of whatever run: it shows nothing of another.
    const other = await as('owner').create({ prompt: 'x', config: { worker_host: 'nobody' } })
    const elsewhere = `/agent/runs/${other}/share-links?cursor=${first.page_info.next_cursor}`
    assert.deepEqual(idsOf(await as('owner').json('GET', elsewhere)), [])
    for (const query of ['cursor=x', 'limit=0', 'limit=501', 'cursor=WzFd'])
      assert.equal((await as('owner').call('GET', `${path}?${query}`)).status, 400, query)
  })

  test('who created the run, and admins, share it', async () => {
    const team = await as('owner').create({ prompt: 'x', config: { worker_host: 'nobody' } })
    const status = async (who: keyof typeof keys, run_id: string) =>
      (await as(who).call('POST', `/agent/runs/${run_id}/share-links`, {})).status
    assert.deepEqual(
      [
        await status('owner', team),
        await status('admin', team),
        await status('other', team),
        await status('viewer', team),
      ],
      [201, 201, 403, 403],
    )
    assert.deepEqual([await status('admin', mine), await status('other', mine)], [404, 404])
    const past = { expires_at: new Date(Date.now() - 1000) }
    assert.equal((await as('owner').call('POST', `/agent/runs/${team}/share-links`, past)).status, 400)
  })

  test('a revoked link ends its visits, its signed links and, in mid-stream, its streams', {
    timeout: 120_000,
  }, async () => {
    const { base_url, fetch } = face()
    const going = await as('owner').create({ prompt: 'x', config: { worker_host: 'nobody' } })
    const [link, kept] = [await share(going), await share(going)]
    const [visitor, other] = [await enter(going, tokenOf(link)), await enter(going, tokenOf(kept))]
    const transcript = (await read(`/agent/runs/${going}/transcript`, visitor)).headers.get('location') ?? ''
    const stop = new AbortController()
    const stream = await fetch(`${base_url}/agent/runs/${going}/events`, {
      headers: { ...visitor, accept: 'text/event-stream' },
      signal: stop.signal,
    })
    assert.equal(stream.status, 200)
    const path = `/agent/runs/${going}/share-links/${link.share_link_id}`
    await as('owner').json('DELETE', path)
    assert.equal((await as('owner').call('DELETE', path)).status, 404)
    assert.equal((await read(`/agent/runs/${going}`, visitor)).status, 401)
    assert.equal((await knock(going, tokenOf(link))).status, 401)
    assert.equal((await fetch(transcript)).status, 404)
    const late = setTimeout(() => stop.abort(), STREAM_ENDS_MS)
    for await (const _ of stream.body ?? []);
    clearTimeout(late)
    assert.equal((await read(`/agent/runs/${going}`, other)).status, 200)
    await as('owner').call('POST', `/agent/runs/${going}/cancel`)
  })

  test('the link of a run opens it only where the run says so, and ends with its key', async () => {
    const { store } = face()
    const leaver = as('leaver')
    const config = { worker_host: 'nobody' }
    const closed = await leaver.create({ prompt: 'x', config })
    assert.equal((await leaver.get(closed)).session_link, `${ORIGIN}/sessions/${closed}`)
    const open = await leaver.create({ prompt: 'x', config: { ...config, ...PUBLIC } })
    const { session_link: url, agent_config } = await leaver.get(open)
    assert.deepEqual(agent_config.session_sharing, PUBLIC.session_sharing)
    const token = tokenOf({ url })
    assert.match(token, /^\d+\.[\w-]+\.[\w-]{43}$/)
    assert.equal((await knock(closed, token)).status, 401)
    const visitor = await enter(open, token)
    assert.equal((await read(`/agent/runs/${open}`, visitor)).status, 200)
    const { runs } = await leaver.json<{ runs: Array<{ run_id: string; session_link: string }> }>(
      'GET',
      '/agent/runs',
    )
    const links = Object.fromEntries(runs.map(({ run_id, session_link }) => [run_id, session_link]))
    assert.equal(links[closed]?.includes('#'), false)
    assert.equal(links[open]?.includes('#access='), true)
    // It is noted once, where it begins, and where it is used: not with each read of the run.
    const { entries } = await as('admin').json<{ entries: AuditEntry[] }>('GET', `/audit-log?target=${open}`)
    assert.deepEqual(
      entries.map(({ action, detail }) => [action, detail?.replace(/[0-9a-f-]{36}/, 'ID')]),
      [
        ['POST /web/visits', 'visit ID'],
        ['createRun', 'its link opens it without a key'],
      ],
    )

    const { api_keys } = await leaver.json<{ api_keys: ApiKey[] }>('GET', '/api-keys')
    assert(await revokeKey(store.db, api_keys[0]?.key_id ?? ''))
    assert.equal((await read(`/agent/runs/${open}`, visitor)).status, 401)
    assert.equal((await knock(open, token)).status, 401)
  })

  test('EDITOR is refused, with the reason', async () => {
    const config = { session_sharing: { public_access: 'EDITOR' } }
    const answer = await as('owner').call('POST', '/agent/runs', { prompt: 'x', config })
    assert.equal(answer.status, 400)
    assert.match(await answer.text(), /config\.session_sharing\.public_access.*EDITOR is not available here/)
  })

  test('who came, and what was shared, is in the audit log', async () => {
    const link = await share(mine)
    await enter(mine, tokenOf(link))
    const find = async (action: string) =>
      (
        await as('admin').json<{ entries: AuditEntry[] }>(
          'GET',
          `/audit-log?target=${mine}&action=${encodeURIComponent(action)}`,
        )
      ).entries[0]
    const deadline = Date.now() + 20_000
    // They are written behind their answers.
    while (!(await find('POST /web/visits'))) assert(Date.now() < deadline)
    const came = await find('POST /web/visits')
    assert.deepEqual([came?.status, came?.principal_id, came?.key_id], [204, undefined, undefined])
    assert.match(came?.detail ?? '', /^visit [0-9a-f-]{36}$/)
    assert((await find('createShareLink'))?.principal_id)
  })
})
