/** People: who they are, and what ends when an admin disables one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ApiKey, NewApiKey } from '../src/contract/api-key.ts'
import type { Principal } from '../src/contract/principal.ts'
import type { ListFiringsResponse, ScheduledAgentItem } from '../src/contract/schedule.ts'
import { until } from './support/cluster.ts'
import { NOBODY, onEitherService } from './support/each-service.ts'
import { apiOf } from './support/service.ts'

const IDLE = { worker_host: NOBODY }
/** Streams ask for their key every 30 seconds. */
const STREAM_ENDS_MS = 60_000

onEitherService('people', (service) => {
  /** A new person, and their key. */
  const meet = async (name: string, role: ApiKey['role'] = 'member') => {
    const key = await service().admin.json<NewApiKey>('POST', '/api-keys', { name, role, new_user: true })
    const { base_url } = service()
    return { uid: key.principal.uid, key, api: apiOf({ base_url, api_key: key.api_key }) }
  }
  const turn = (uid: string, verb: 'disable' | 'enable', by = service().admin) =>
    by.call('POST', `/principals/${uid}/${verb}`, {})
  const find = async (uid: string): Promise<Principal | undefined> =>
    (await service().admin.json<{ principals: Principal[] }>('GET', '/principals')).principals.find(
      (person) => person.uid === uid,
    )

  test('they are listed newest first, with what their keys come to, in pages', async () => {
    const { admin } = service()
    const first = await meet('Ada')
    const second = await meet('Bert', 'viewer')
    const more = { name: 'more', role: 'admin', principal_id: first.uid }
    const spare = await admin.json<NewApiKey>('POST', '/api-keys', more)
    const never = await find(first.uid)
    assert.deepEqual(never, {
      ...{ uid: first.uid, display_name: 'Ada', disabled: false, keys: 2, role: 'admin' },
      created_at: never?.created_at,
    })
    await admin.json('DELETE', `/api-keys/${spare.key_id}`)
    await first.api.json('GET', '/agent/models')
    const used = await find(first.uid)
    assert.deepEqual([used?.keys, used?.role], [1, 'member'])
    assert(used?.last_used_at !== undefined && used.last_used_at >= used.created_at.slice(0, 16))
    // An identity is no person.
    const { uid } = await admin.json<{ uid: string }>('POST', '/agent/identities', { name: 'Robot' })
    const all = await admin.json<{ principals: Principal[] }>('GET', '/principals?limit=500')
    const ids = all.principals.map((person) => person.uid)
    assert.deepEqual(ids.slice(0, 2), [second.uid, first.uid])
    assert(!ids.includes(uid))
    const paged: string[] = []
    for (let cursor = ''; ; ) {
      const { principals, page_info } = await admin.json<{
        principals: Principal[]
        page_info: { has_next_page: boolean; next_cursor?: string }
      }>('GET', `/principals?limit=2${cursor}`)
      paged.push(...principals.map((person) => person.uid))
      if (!page_info.has_next_page) break
      cursor = `&cursor=${page_info.next_cursor}`
    }
    assert.deepEqual(paged, ids)
    assert.equal((await admin.call('GET', '/principals?cursor=WyJ4Il0')).status, 400)
    for (const id of [uid, 'nobody']) assert.equal((await turn(id, 'disable')).status, 404)
  })

  test('who is disabled does nothing any more, until they are enabled', async () => {
    const { admin, other, base_url } = service()
    const { uid, key, api } = await meet('Leaver')
    const origin = new URL(base_url).origin
    const page = { 'x-runyard-page': '1', origin }
    const signed_in = await fetch(`${origin}/web/session`, {
      ...{ method: 'POST', headers: { ...page, authorization: `Bearer ${key.api_key}` } },
    })
    const cookie = signed_in.headers.getSetCookie()[0]?.split(';')[0] ?? ''
    const byCookie = async () =>
      (await fetch(`${base_url}/agent/models`, { headers: { ...page, cookie } })).status
    assert.equal(await byCookie(), 200)

    const run_id = await api.create({ prompt: 'x', config: IDLE })
    const schedule = await api.json<ScheduledAgentItem>('POST', '/agent/schedules', {
      ...{ name: 'Often', cron_schedule: '* * * * * *', overlap: 'allow', prompt: 'x', agent_config: IDLE },
    })
    const trigger = await api.json<{ url: string }>('POST', '/agent/triggers', {
      ...{ name: 'Posted', verification: 'gitlab', secret: 'a-good-token', prompt: 'x', agent_config: IDLE },
    })
    let sent = 0
    const post = async () =>
      (
        await fetch(trigger.url, {
          ...{
            method: 'POST',
            body: JSON.stringify({ sent: ++sent }),
            headers: { 'x-gitlab-token': 'a-good-token' },
          },
        })
      ).status
    assert.equal(await post(), 202)
    const outcomes = async () =>
      (await admin.json<ListFiringsResponse>('GET', `/agent/schedules/${schedule.id}/firings`)).firings.map(
        ({ outcome }) => outcome,
      )
    await until('a due time', async () => (await outcomes()).includes('created'))
    const stream = await fetch(`${base_url}/agent/runs/${run_id}/events?follow=true`, {
      headers: { accept: 'text/event-stream', authorization: `Bearer ${key.api_key}` },
      signal: AbortSignal.timeout(STREAM_ENDS_MS),
    })
    assert.equal(stream.status, 200)

    const disabled = (await (await turn(uid, 'disable')).json()) as Principal
    assert.deepEqual([disabled.disabled, disabled.keys, disabled.role], [true, 1, 'member'])
    // Again is no other.
    assert.equal((await turn(uid, 'disable')).status, 200)
    assert.equal((await api.call('GET', '/agent/models')).status, 401)
    assert.equal(await byCookie(), 401)
    assert.equal(await post(), 404)
    await until('a due time that is refused', async () => (await outcomes())[0] === 'failed')
    const followup = await other.call('POST', `/agent/runs/${run_id}/followups`, { message: 'x' })
    assert.equal(followup.status, 409)
    assert.match(await followup.text(), /the person is disabled/)
    const below = await other.call('POST', '/agent/runs', { prompt: 'x', parent_run_id: run_id })
    assert.equal(below.status, 409)
    assert.match(await below.text(), /the person is disabled/)
    assert.equal((await find(uid))?.disabled, true)
    await stream.text()

    assert.equal((await turn(uid, 'enable')).status, 200)
    assert.equal((await api.call('GET', '/agent/models')).status, 200)
    assert.equal(await byCookie(), 200)
    assert.equal(await post(), 202)
    await until('a due time that is not', async () => (await outcomes())[0] === 'created')
    await api.json('DELETE', `/agent/schedules/${schedule.id}`)
  })

  test('the last admin stays, whoever are disabled at once', async () => {
    const { admin } = service()
    const { principals } = await admin.json<{ principals: Principal[] }>('GET', '/principals?limit=500')
    const own = principals.find(({ display_name }) => display_name === 'admin')?.uid ?? ''
    const alone = await turn(own, 'disable')
    assert.equal(alone.status, 409)
    assert.match(await alone.text(), /the last admin key that works/)
    for (let round = 0; round < 5; round += 1) {
      const one = await meet(`One ${round}`, 'admin')
      // Of two who disable each other one goes on.
      const statuses = await Promise.all([
        turn(own, 'disable', one.api).then(({ status }) => status),
        turn(one.uid, 'disable').then(({ status }) => status),
      ])
      const survivor = [one.api, admin]
      const answers = await Promise.all(
        survivor.map(async (by) => (await by.call('GET', '/principals')).status),
      )
      assert(answers.includes(200), `${statuses} leave nobody`)
      assert(answers.includes(401), `${statuses} disabled nobody`)
      if (answers[0] === 200) assert.equal((await turn(own, 'enable', one.api)).status, 200)
      assert.equal((await turn(one.uid, 'disable')).status, 200)
    }
  })
})
