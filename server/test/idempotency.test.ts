/** Every operation that takes a POST, sent more than once with one Idempotency-Key. What ends with a day is tested beside the store. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import type { RouteDefinition } from '../src/contract/route.ts'
import { type OperationId, ROUTES } from '../src/contract/routes.ts'
import { GOOD, onScene } from './support/good-requests.ts'

const REPLAYED = 'idempotent-replayed'
const WAITING = { prompt: 'x', config: { worker_host: 'nobody' } }
const posts = (Object.entries(ROUTES) as Array<[OperationId, RouteDefinition]>).filter(
  ([, { method }]) => method === 'POST',
)

onScene('once with one Idempotency-Key', (scene) => {
  let other_key: string
  before(async () => {
    const user = { name: 'another', role: 'admin', new_user: true }
    const made = await scene().face.admin.json<{ api_key: string }>('POST', '/api-keys', user)
    other_key = made.api_key
  })

  for (const [id, { path, status }] of posts) {
    test(id, async () => {
      const { face, fill } = scene()
      const { path: filled = path, body } = GOOD[id]
      const text = body === undefined ? undefined : JSON.stringify(body)
      const key = randomUUID()
      const send = (api_key: string, sent: string | undefined) =>
        face.fetch(face.base_url + fill(filled), {
          method: 'POST',
          headers: {
            authorization: `Bearer ${api_key}`,
            'idempotency-key': key,
            ...(sent === undefined ? {} : { 'content-type': 'application/json' }),
          },
          ...(sent === undefined ? {} : { body: sent }),
        })
      const own = face.keys.admin
      // The second may come while the first is at work.
      const pair = await Promise.all([send(own, text), send(own, text)])
      const again = await send(own, text)
      const all = await Promise.all(
        [...pair, again].map(async (answer) => ({
          status: answer.status,
          replayed: answer.headers.get(REPLAYED),
          body: await answer.text(),
        })),
      )
      const [first] = all
      for (const answer of all) assert.deepEqual([answer.status, answer.body], [status, first?.body])
      assert.deepEqual(all.map(({ replayed }) => replayed).toSorted(), [null, 'true', 'true'])
      assert.equal(all[2]?.replayed, 'true')

      const changed = await send(own, text === undefined ? '{}' : `${text} `)
      assert.deepEqual([changed.status, changed.headers.get(REPLAYED)], [422, null])
      assert.match(await changed.text(), /used with another body/)
      // Another person's key of the same name is another key, whatever the answer is.
      const others = await send(other_key, text)
      assert.notEqual(others.status, 422)
      assert.equal(others.headers.get(REPLAYED), null)
    })
  }

  test('is a wish about one thing: with another id in the path it is another', async () => {
    const { admin } = scene().face
    const headers = { 'idempotency-key': randomUUID() }
    for (const run_id of [await admin.create(WAITING), await admin.create(WAITING)]) {
      const path = `/agent/runs/${run_id}/cancel`
      const answer = await admin.call('POST', path, undefined, headers)
      assert.deepEqual([await answer.json(), answer.headers.get(REPLAYED)], [run_id, null])
      assert.equal((await admin.get(run_id)).state, 'CANCELLED')
    }
  })

  test('is of 1 to 255 characters', async () => {
    const { admin } = scene().face
    const statusOf = async (key: string) =>
      (await admin.call('POST', '/agent/runs', WAITING, { 'idempotency-key': key })).status
    assert.deepEqual(
      [await statusOf('k'.repeat(255)), await statusOf('k'.repeat(256)), await statusOf('')],
      [200, 400, 400],
    )
  })
})
