/** A principal is not a key: what is the principal's stays, what was made with a key goes with it. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { sql } from 'kysely'
import type { z } from 'zod'
import type { ArtifactResponse } from '../src/contract/artifact.ts'
import type { ListRunsResponse } from '../src/contract/run.ts'
import type { Keys } from '../src/control.ts'
import { keysOf } from '../src/keys.ts'
import type { NewKey } from '../src/store/api-keys.ts'
import { ORIGIN } from './support/app.ts'
import { onFace } from './support/face.ts'

const GRACE_MS = 600_000
const STREAM_ENDS_MS = 60_000

onFace('a principal and its keys', (face) => {
  let keys: Keys
  before(() => {
    keys = keysOf(face().store.db)
  })

  const as = ({ api_key }: NewKey) => face().as(api_key)
  const create = async (name: string, principal_id?: string): Promise<NewKey> => {
    const made = await keys.create({ name, role: 'member', principal_id })
    assert(made)
    return made
  }
  const rotate = async (key: NewKey, grace_ms: number): Promise<NewKey> => {
    const made = await keys.rotate(key.key_id, grace_ms)
    assert(made)
    return made
  }
  /** As if the grace of a key that was rotated had passed. */
  const endGrace = ({ key_id }: NewKey) =>
    sql`update api_keys set grace_until = grace_until - ${GRACE_MS} * interval '1 millisecond'
      where key_id = ${key_id}`.execute(face().store.db)
  /** Asks one of the page's own paths, as the page does. */
  const askAsPage = (path: string, body: object, headers: Record<string, string> = {}) =>
    face().fetch(ORIGIN + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-runyard-page': '1', origin: ORIGIN, ...headers },
      body: JSON.stringify(body),
    })
  const cookieOf = (answer: Response) => ({ cookie: answer.headers.getSetCookie()[0]?.split(';')[0] ?? '' })
  const bearer = ({ api_key }: NewKey) => ({ authorization: `Bearer ${api_key}` })

  /** Everything that a caller can make of a key for one of its runs, each asked for anew. */
  async function makeAll(key: NewKey, run_id: string): Promise<Record<string, () => Promise<number>>> {
    const { base_url, fetch } = face()
    const api = as(key)
    const run = await api.get(run_id)
    const [artifact] = run.artifacts.flatMap(({ data }) =>
      'artifact_uid' in data ? [data.artifact_uid] : [],
    )
    const { data } = await api.json<z.infer<typeof ArtifactResponse>>('GET', `/agent/artifacts/${artifact}`)
    const transcript = await api.call('GET', `/agent/runs/${run_id}/transcript`)
    const token = new URL(run.session_link).hash.replace('#access=', '')
    const visit = () => askAsPage('/web/visits', { run_id, token })
    const visitor = { ...cookieOf(await visit()), 'x-runyard-page': `visit ${run_id}` }
    const signed_in = { ...cookieOf(await askAsPage('/web/session', {}, bearer(key))), 'x-runyard-page': '1' }
    const at = `${base_url}/agent/runs/${run_id}`
    const statusOf =
      (url: string, headers: Record<string, string> = {}) =>
      async () => {
        const answer = await fetch(url, { headers })
        await answer.body?.cancel()
        return answer.status
      }
    return {
      'the key': statusOf(`${base_url}/agent/runs/${run_id}`, bearer(key)),
      'a link to an artifact': statusOf(data.download_url),
      'a link to the transcript': statusOf(transcript.headers.get('location') ?? ''),
      'a session link': async () => (await visit()).status,
      'a cookie of a link': statusOf(at, visitor),
      'a cookie of the key': statusOf(at, signed_in),
      'events by a link': statusOf(`${at}/events`, visitor),
    }
  }
  const REFUSED = {
    'the key': 401,
    'a link to an artifact': 404,
    'a link to the transcript': 404,
    'a session link': 401,
    'a cookie of a link': 401,
    'a cookie of the key': 401,
    'events by a link': 401,
  }
  const ALLOWED = Object.fromEntries(
    Object.keys(REFUSED).map((name) => [name, name === 'a session link' ? 204 : 200]),
  )
  const statuses = async (made: Record<string, () => Promise<number>>) =>
    Object.fromEntries(
      await Promise.all(Object.entries(made).map(async ([name, ask]) => [name, await ask()] as const)),
    )
  const personal = async (key: NewKey): Promise<string> => {
    const run_id = await as(key).create({
      ...{ prompt: 'x', team: false },
      config: { worker_host: face().worker.pool, session_sharing: { public_access: 'VIEWER' } },
    })
    await face().worker.run(run_id, { x: 'x\n' })
    return run_id
  }

  test('every key of a principal sees its personal runs, and no key of another', async () => {
    const first = await create('Ada')
    const run_id = await personal(first)
    const second = await create('Ada’s laptop', first.principal_id)
    assert.equal((await as(second).get(run_id)).creator.display_name, 'Ada')
    const { runs } = await as(second).json<ListRunsResponse>('GET', '/agent/runs')
    assert.deepEqual(
      runs.map((run) => run.run_id),
      [run_id],
    )
    // Of the same name, not the same.
    const stranger = await create('Ada')
    assert.equal((await as(stranger).call('GET', `/agent/runs/${run_id}`)).status, 404)
    assert.equal(await keys.revoke(first.key_id), true)
    assert.equal((await as(second).get(run_id)).run_id, run_id)
  })

  test('links and sessions end with their key, at once, and those of the principal’s other key do not', async () => {
    const first = await create('Bo')
    const second = await create('Bo’s laptop', first.principal_id)
    const run_id = await personal(first)
    const [by_first, by_second] = [await makeAll(first, run_id), await makeAll(second, run_id)]
    assert.deepEqual(await statuses(by_first), ALLOWED)
    assert.equal(await keys.revoke(first.key_id), true)
    assert.deepEqual(await statuses(by_first), REFUSED)
    assert.deepEqual(await statuses(by_second), ALLOWED)
  })

  test('a rotated key leaves its links their grace, and its runs to the next one', async () => {
    const first = await create('Cy')
    const run_id = await personal(first)
    const by_first = await makeAll(first, run_id)
    const second = await rotate(first, GRACE_MS)
    assert.equal(second.principal_id, first.principal_id)
    assert.deepEqual(await statuses(by_first), ALLOWED)
    const by_second = await makeAll(second, run_id)
    await endGrace(first)
    assert.deepEqual(await statuses(by_first), REFUSED)
    assert.deepEqual(await statuses(by_second), ALLOWED)
    const third = await rotate(second, 0)
    assert.deepEqual(await statuses(by_second), REFUSED)
    assert.equal((await as(third).get(run_id)).run_id, run_id)
  })

  test('streams that are open end after their key', { timeout: 3 * STREAM_ENDS_MS }, async () => {
    const key = await create('Di')
    const other = await create('Di’s laptop', key.principal_id)
    const run_id = await as(key).create({ prompt: 'x', config: { worker_host: 'nobody' }, team: false })
    const { base_url, fetch } = face()
    const stop = new AbortController()
    const open = async (path: string, headers: Record<string, string>) => {
      const accept = { accept: 'text/event-stream' }
      const { status, body } = await fetch(path, { headers: { ...headers, ...accept }, signal: stop.signal })
      assert.equal(status, 200)
      const ended = (async () => {
        for await (const _ of body ?? []);
        return true
      })()
      return { ended: ended.catch(() => false) }
    }
    const signed_in = { ...cookieOf(await askAsPage('/web/session', {}, bearer(key))), 'x-runyard-page': '1' }
    const events = `${base_url}/agent/runs/${run_id}/events`
    const going = [await open(events, bearer(key)), await open(events, signed_in)]
    const many = `${base_url}/agent/events/stream?run_ids=${run_id}`
    going.push(await open(many, bearer(key)))
    // One that ends by itself, in the middle.
    const short = await create('Di’s job', key.principal_id)
    going.push(await open(events, bearer(short)), await open(many, bearer(short)))
    await rotate(short, GRACE_MS)
    await endGrace(short)
    const kept = await open(events, bearer(other))
    assert.equal(await keys.revoke(key.key_id), true)
    const late = wait(STREAM_ENDS_MS, ['too late'], { signal: stop.signal }).catch(() => [])
    assert.deepEqual(
      await Promise.race([Promise.all(going.map(({ ended }) => ended)), late]),
      going.map(() => true),
    )
    stop.abort()
    assert.equal(await kept.ended, false, 'it was open until it was cut')
  })
})
