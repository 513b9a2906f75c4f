/** What a run holds is masked nowhere but in its log, so its files are not for those who may not use its secrets. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { z } from 'zod'
import type { RouteDefinition } from '../src/contract/route.ts'
import { type OperationId, ROUTES } from '../src/contract/routes.ts'
import { noteSecrets } from '../src/store/audit-log.ts'
import { insertSnapshot, readMoment } from '../src/store/snapshots.ts'
import { onFace } from './support/face.ts'
import type { apiOf } from './support/service.ts'

type Api = ReturnType<typeof apiOf>

const VALUE = 'the-value-of-the-secret'
const FILE = { file_name: 'a', mime_type: 'text/plain', data: btoa(VALUE) }
const operations = Object.entries(ROUTES) as Array<[OperationId, RouteDefinition]>

/** Each field of a request that names an earlier run, and whether what that run holds comes with it. */
const NAMED: Record<string, boolean> = {
  parent_run_id: false,
  replay_of_run_id: true,
  'fork_of.run_id': true,
}

/** Paths of fields, as deep as objects go. */
function fieldsOf(schema: unknown, path = ''): string[] {
  const { properties = {}, anyOf = [] } = schema as {
    properties?: Record<string, unknown>
    anyOf?: unknown[]
  }
  return [
    ...anyOf.flatMap((one) => fieldsOf(one, path)),
    ...Object.entries(properties).flatMap(([name, field]) => {
      const place = path === '' ? name : `${path}.${name}`
      return [place, ...fieldsOf(field, place)]
    }),
  ]
}

onFace('what a run holds unmasked', (face) => {
  let run_id: string
  let artifact: string
  let secret: string
  let people: Record<'named' | 'stranger', Api>
  const grant = async (...who: Api[]) => {
    const uids = await Promise.all(
      who.map(async (api) => {
        const listed = await api.json<{ api_keys: Array<{ principal: { uid: string } }> }>('GET', '/api-keys')
        return listed.api_keys[0]?.principal.uid
      }),
    )
    const body = { resource_type: 'secret', resource_id: secret, principal_ids: uids }
    await face().admin.json('PUT', '/agent/grants', body)
  }
  const download = async (url: string) => {
    const answer = await face().fetch(url)
    return { status: answer.status, text: await answer.text() }
  }
  before(async () => {
    const { admin, worker, store, blobs, as, other } = face()
    people = {
      named: other,
      stranger: as(
        (await admin.json<{ api_key: string }>('POST', '/api-keys', { name: 'Sam', new_user: true })).api_key,
      ),
    }
    secret = `S_${randomUUID().replaceAll('-', '')}`
    await admin.json('PUT', `/agent/secrets/${secret}`, { value: VALUE })
    await grant(people.named)
    const environment = { name: randomUUID(), secrets: [secret] }
    const { uid } = await admin.json<{ uid: string }>('POST', '/agent/environments', environment)
    const config = { environment_id: uid, worker_host: worker.pool }
    run_id = await people.named.create({ prompt: 'x', config, attachments: [FILE] })
    const lease = await worker.start(run_id)
    artifact = await worker.keep(lease, 'x', VALUE)
    const blob_key = `runs/${run_id}/snapshots/${randomUUID()}`
    const size_bytes = await blobs.put(blob_key, Buffer.from(VALUE))
    const moment = await readMoment(store.db, lease)
    assert(moment)
    await insertSnapshot(store.db, lease, {
      ...{ ...moment, snapshot_id: randomUUID(), folders: [], commits: {}, backend: 'host', sandbox_id: 'x' },
      ...{
        image: null,
        stamp: null,
        blob_key,
        index_blob_key: null,
        size_bytes,
        expanded_bytes: size_bytes,
        entries: 1,
        sha256: 'x',
      },
    })
    await worker.end(lease)
  })

  /** Everything that the operations say of the run, with the files that they lead to. */
  const readAll = async (api: Api): Promise<{ refused: OperationId[]; text: string }> => {
    const refused: OperationId[] = []
    let text = ''
    for (const [id, { method, path }] of operations) {
      if (method !== 'GET' || !/\{(run_id|artifact_uid|conversation_id)\}/.test(path)) continue
      const answer = await api.call(
        'GET',
        path.replace('{artifact_uid}', artifact).replace(/\{\w+\}/, run_id) +
          (id === 'getWorkspaceFile' ? '?path=x' : ''),
      )
      if (answer.status === 403) refused.push(id)
      text += await answer.text()
      const location = answer.headers.get('location')
      if (location) text += (await download(location)).text
    }
    for (const [, url = ''] of text.matchAll(/"download_url":"([^"]+)"/g)) text += (await download(url)).text
    return { refused, text }
  }

  test('is read by those who may use its secrets, by whatever operation', async () => {
    const { viewer, admin } = face()
    for (const api of [people.named, admin]) {
      const { refused, text } = await readAll(api)
      assert.deepEqual(refused, [])
      assert.equal(text.split(VALUE).length - 1, 3, 'the artifact by two operations, and the workspace')
    }
    for (const api of [people.stranger, viewer]) {
      const { refused, text } = await readAll(api)
      assert.deepEqual(refused.sort(), [
        'downloadArtifact',
        'getArtifact',
        'getRunDiff',
        'getWorkspaceFile',
        'listHandoffAttachments',
        'listShareLinks',
        'listWorkspaceFiles',
      ])
      assert(!text.includes(VALUE))
    }
  })

  test('no new run begins with it for others, whatever field names the run', async () => {
    for (const [id, { body }] of operations) {
      if (!body) continue
      const schema = z.toJSONSchema(body, { io: 'input', unrepresentable: 'any' })
      const naming = fieldsOf(schema).filter((field) => /(^|[._])run_id$/.test(field))
      for (const field of naming)
        assert(field in NAMED, `${id} takes ${field}: say here whether it brings what that run holds.`)
    }
    const plain = await face().admin.json<{ uid: string }>('POST', '/agent/environments', {
      name: randomUUID(),
    })
    const bodies = [
      // In another environment it asks nothing of the first one's secrets, but brings its files.
      { replay_of_run_id: run_id, config: { environment_id: plain.uid } },
      { fork_of: { run_id }, prompt: 'x' },
      { parent_run_id: run_id, prompt: 'x' },
    ]
    for (const body of bodies) {
      const asked = await people.stranger.call('POST', '/agent/runs', body)
      assert.deepEqual(
        [asked.status, /grant for the secret/.test(await asked.text())],
        [403, true],
        JSON.stringify(body),
      )
    }
    const named = await people.named.call('POST', '/agent/runs', bodies[1])
    assert.equal(named.status, 409, 'a fork, of which no turn is kept')
  })

  test('what a run was given once counts, whatever its environment says by then', async () => {
    const { admin, store, worker } = face()
    const { uid } = await admin.json<{ uid: string }>('POST', '/agent/environments', { name: randomUUID() })
    const config = { environment_id: uid, worker_host: worker.pool }
    const old_run = await people.named.create({ prompt: 'x', config })
    const path = `/agent/runs/${old_run}/handoff/attachments`
    assert.equal((await people.stranger.call('GET', path)).status, 200)
    const { executor } = await admin.get(old_run)
    // As its worker notes it, before the environment was changed: behind more names than one entry holds.
    const others = Array.from({ length: 30 }, (_, place) => `OTHER_${place}_${'X'.repeat(50)}`)
    await noteSecrets(store.db, {
      ...{ target: old_run, principal_id: executor.uid },
      names: [...others, secret],
    })
    await admin.json('DELETE', `/agent/environments/${uid}`)
    const followup = `/agent/runs/${old_run}/followups`
    for (const asked of [
      people.stranger.call('GET', path),
      people.stranger.call('POST', '/agent/runs', { prompt: 'x', fork_of: { run_id: old_run } }),
      people.stranger.call('POST', followup, { message: 'x' }),
    ])
      assert.equal((await asked).status, 403)
    assert.equal((await people.named.call('GET', path)).status, 200)
    await admin.json('POST', `/agent/runs/${old_run}/cancel`)
  })

  test('a link ends with the grant, and shares no more than its maker may have', async () => {
    const { admin, fetch, origin } = face()
    const share = async (api: Api) => {
      const answer = await api.call('POST', `/agent/runs/${run_id}/share-links`, {})
      return { status: answer.status, url: ((await answer.json()) as { url?: string }).url ?? '' }
    }
    const visit = async (url: string) => {
      const body = JSON.stringify({ run_id, token: new URL(url).hash.replace('#access=', '') })
      const headers = { origin, 'x-runyard-page': '1', 'content-type': 'application/json' }
      const begun = await fetch(`${origin}/web/visits`, { method: 'POST', headers, body })
      const cookie = begun.headers.getSetCookie()[0]?.split(';')[0] ?? ''
      return fetch(`${face().base_url}/agent/artifacts/${artifact}`, {
        headers: { origin, cookie, 'x-runyard-page': `visit ${run_id}` },
      })
    }
    const path = `/agent/artifacts/${artifact}`
    const { data } = await people.named.json<{ data: { download_url: string } }>('GET', path)
    const handed = await people.named.json<{ attachments: Array<{ download_url: string }> }>(
      'GET',
      `/agent/runs/${run_id}/handoff/attachments`,
    )
    const links = [data.download_url, handed.attachments[0]?.download_url ?? '']
    const [by_admin, by_named] = [await share(admin), await share(people.named)]
    for (const { url } of [by_admin, by_named]) assert.equal((await visit(url)).status, 200)
    for (const url of links) assert.equal((await download(url)).status, 200)
    await grant(people.stranger)
    for (const url of links) assert.equal((await download(url)).status, 403)
    assert.equal((await visit(by_admin.url)).status, 200)
    assert.equal((await visit(by_named.url)).status, 403)
    assert.equal((await share(people.named)).status, 403)
  })
})
