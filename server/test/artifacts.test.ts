/** What callers are told of artifacts, by whichever operation. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import type { ArtifactResponse } from '../src/contract/artifact.ts'
import { putPlan } from '../src/store/plans.ts'
import { recordPush } from '../src/store/pushes.ts'
import { putArtifactOnce } from '../src/worker/put-artifact.ts'
import { onFace } from './support/face.ts'
import { createComponentCheck } from './support/openapi.ts'

const check = createComponentCheck()
const PLAN = '# Plan\n\n1. Find the cause – and mend it.\n'
const TOKEN = 'a-token-of-the-sender'

onFace('artifacts', (face) => {
  const get = async (uid: string) => {
    const artifact = await face().admin.json<ArtifactResponse>('GET', `/agent/artifacts/${uid}`)
    check('ArtifactResponse', artifact)
    return artifact
  }

  test('a plan comes with its text, a file with where it comes from, and each can be downloaded', async () => {
    const { admin, worker, store, blobs, fetch, base_url, origin } = face()
    const run_id = await admin.create({ prompt: 'x', config: { worker_host: worker.pool } })
    const lease = await worker.start(run_id)
    const { stored } = await putArtifactOnce(blobs, run_id, Readable.from([Buffer.from(PLAN)]))
    const named = { filename: 'plan.md', filepath: 'plan.md', mime_type: 'text/markdown', title: 'The plan' }
    await putPlan(store.db, lease, { ...stored, ...named, artifact_type: 'PLAN' })
    const file = await worker.keep(lease, 'notes.txt', 'some notes')
    const before = await get(file)
    assert.deepEqual(before.source_links, { run_url: `${origin}/sessions/${run_id}` })
    const url = 'https://git.example/acme/shop/pull/8'
    const pushed = { directory: 'shop', repository: 'git.example/acme/shop', branch: 'b', commit: 'c', url }
    await recordPush(store.db, lease, {
      ...pushed,
      pull_request: { number: 8, url },
      artifact_uid: randomUUID(),
    })
    await worker.end(lease)

    const plan = await get(stored.artifact_uid)
    const { content, content_type, document_uid, notebook_uid, title } = plan.data
    assert.deepEqual([content, content_type, title], [PLAN, 'text/markdown', 'The plan'])
    assert.deepEqual([document_uid, notebook_uid], [plan.artifact_uid, plan.artifact_uid])
    assert.deepEqual((await get(file)).source_links?.pull_request_urls, [url])

    for (const [uid, bytes] of [
      [plan.artifact_uid, PLAN],
      [file, 'some notes'],
    ] as const) {
      const answer = await admin.call('GET', `/agent/artifacts/${uid}/download`)
      assert.equal(answer.status, 302)
      const link = answer.headers.get('location') ?? ''
      assert.equal(await (await fetch(link)).text(), bytes)
    }
    const without = await fetch(`${base_url}/agent/artifacts/${file}/download`)
    assert.equal(without.status, 401)
  })

  test('a pull request stands in its run as its host said last, to those who may see the run', async () => {
    const { admin, other, worker, store, fetch } = face()
    const url = 'https://git.example/acme/shop/-/merge_requests/9'
    const run_id = await admin.create({ prompt: 'x', config: { worker_host: worker.pool }, team: false })
    const lease = await worker.start(run_id)
    const pushed = { directory: 'shop', repository: 'git.example/acme/shop', branch: 'b', commit: 'c', url }
    await recordPush(store.db, lease, {
      ...pushed,
      pull_request: { number: 9, url },
      artifact_uid: randomUUID(),
    })
    await worker.end(lease)
    const read = async () => {
      const run = await admin.get(run_id)
      check('RunItem', run)
      const [item] = run.artifacts
      assert(item?.artifact_type === 'PULL_REQUEST')
      return { status: item.data.status, updated_at: run.updated_at }
    }
    const opened = await read()
    assert.equal(opened.status, 'open')
    const triggerOf = (api: typeof admin) =>
      api.json<{ url: string }>('POST', '/agent/triggers', {
        ...{ name: randomUUID(), verification: 'gitlab', secret: TOKEN, prompt: 'x', filter: 'false' },
      })
    const deliver = async (api: typeof admin, attributes: object) => {
      const trigger = await triggerOf(api)
      const body = JSON.stringify({
        object_kind: 'merge_request',
        object_attributes: { url, action: 'update', ...attributes },
      })
      const headers = { 'x-gitlab-token': TOKEN, 'content-type': 'application/json' }
      assert((await fetch(trigger.url, { method: 'POST', headers, body })).ok)
    }
    await deliver(other, { state: 'closed' })
    assert.deepEqual(await read(), opened, "Another person's trigger does not reach a personal run.")
    await deliver(admin, { state: 'opened', draft: true })
    const draft = await read()
    assert.equal(draft.status, 'draft')
    assert(draft.updated_at > opened.updated_at)
    await deliver(admin, { state: 'merged' })
    const merged = await read()
    assert.equal(merged.status, 'merged')
    await deliver(admin, { state: 'opened' })
    assert.deepEqual(await read(), merged, 'A late delivery does not open it again.')
  })
})
