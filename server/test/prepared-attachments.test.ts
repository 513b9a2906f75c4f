/** Files that are uploaded before the follow-up that names them. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { sql } from 'kysely'
import type { ErrorBody } from '../src/contract/error.ts'
import type { PrepareAttachmentsResponse, PreparedUpload } from '../src/contract/prepared-attachment.ts'
import { readAwaitedAttachments, readKeptBytes } from '../src/store/attachments.ts'
import { listAudit } from '../src/store/audit-log.ts'
import { readNamedBlobs } from '../src/store/blob-keys.ts'
import { removeExpiredPrepared } from '../src/store/prepared-attachments.ts'
import { until } from './support/cluster.ts'
import { onFace } from './support/face.ts'

onFace('attachments in advance', (face) => {
  const make = () => face().admin.create({ prompt: 'x', config: { worker_host: randomUUID() } })
  const files = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ file_name: `${at}.txt`, mime_type: 'text/plain' }))
  const prepare = async (place: string, count: number) => {
    const body = { attachments: files(count) }
    const path = `/agent/${place}/attachments/prepare`
    return (await face().admin.json<PrepareAttachmentsResponse>('POST', path, body)).attachments
  }
  const upload = ({ upload_url }: Pick<PreparedUpload, 'upload_url'>, body: string) =>
    face().fetch(upload_url, { method: 'PUT', body, headers: { 'content-type': 'text/plain' } })
  const follow = (run_id: string, attachments: object[], api = face().admin) =>
    api.call('POST', `/agent/runs/${run_id}/followups`, { message: '', attachments })
  const refusal = async (answer: Promise<Response>) => {
    const { status, detail = '' } = (await (await answer).json()) as ErrorBody
    return { status, detail }
  }
  const stored = async (run_id: string) => {
    const { store, blobs } = face()
    const found = await readAwaitedAttachments(store.db, run_id)
    return Promise.all(
      found.map(async ({ file_name, blob_key }) => {
        const chunks = await (await blobs.get(blob_key))?.toArray()
        return [file_name, Buffer.concat(chunks ?? []).toString()]
      }),
    )
  }

  test('25 files go with one message, under the names that it gives them', async () => {
    const run_id = await make()
    const prepared = await prepare(`runs/${run_id}`, 25)
    for (const [at, one] of prepared.entries()) assert.equal((await upload(one, `file ${at}`)).status, 200)
    const named = prepared.map(({ attachment_id }, at) => ({
      attachment_id,
      ...(at === 0 ? { file_name: 'renamed.txt' } : {}),
    }))
    assert.equal((await follow(run_id, named)).status, 200)
    const expected = prepared.map(({ file_name }, at) => [at === 0 ? 'renamed.txt' : file_name, `file ${at}`])
    assert.deepEqual((await stored(run_id)).sort(), expected.sort())
    const again = await refusal(follow(run_id, named.slice(0, 1)))
    assert.equal(again.status, 422)
    assert.match(again.detail, /attachments\.0\.attachment_id: unknown_attachment/)
  })

  test('the last upload counts, and what does not go with a message goes away', async () => {
    const { store } = face()
    const run_id = await make()
    const [one, never] = await prepare(`runs/${run_id}`, 2)
    assert(one && never)
    await upload(one, 'first')
    await upload(one, 'last')
    assert.equal((await follow(run_id, [one, never])).status, 422)
    assert.equal((await follow(run_id, [one, one])).status, 422)
    assert.equal((await follow(run_id, [{ attachment_id: one.attachment_id }])).status, 200)
    assert.deepEqual(await stored(run_id), [['0.txt', 'last']])
    assert.equal((await upload(one, 'late')).status, 404)
    await upload(never, 'never sent')
    const { rows } = await sql<{ blob_key: string }>`
      select blob_key from prepared_attachments where attachment_id = ${never.attachment_id}`.execute(
      store.db,
    )
    const keys = rows.map(({ blob_key }) => blob_key)
    assert.deepEqual([...(await readNamedBlobs(store.db, keys))], keys)
    await sql`update prepared_attachments set expires_at = now() where run_id = ${run_id}`.execute(store.db)
    assert.equal((await upload(never, 'x')).status, 404)
    await removeExpiredPrepared(store.db)
    assert.deepEqual([...(await readNamedBlobs(store.db, keys))], [])
  })

  test('a file for a conversation goes with a message to any of its runs, one for a run to that run', async () => {
    const { admin } = face()
    const first = await make()
    const second = await admin.create({
      ...{ prompt: 'x', conversation_id: first, config: { worker_host: randomUUID() } },
    })
    const [shared] = await prepare(`conversations/${first}`, 1)
    const [own] = await prepare(`runs/${second}`, 1)
    assert(shared && own)
    for (const one of [shared, own]) await upload(one, 'here')
    assert.equal((await follow(first, [{ attachment_id: own.attachment_id }])).status, 422)
    assert.equal((await follow(first, [{ attachment_id: shared.attachment_id }])).status, 200)
    assert.deepEqual(await stored(first), [['0.txt', 'here']])
  })

  test('what any run of a conversation may take counts as kept by each of them', async () => {
    const { admin, store } = face()
    const first = await make()
    const kept = (run_id: string) => readKeptBytes(store.db, run_id)
    const [shared] = await prepare(`conversations/${first}`, 1)
    const [own] = await prepare(`runs/${first}`, 1)
    assert(shared && own)
    await upload(shared, 'four')
    await upload(own, 'mine alone')
    const config = { worker_host: randomUUID() }
    const second = await admin.create({ prompt: 'x', conversation_id: first, config })
    assert.deepEqual([await kept(first), await kept(second), await kept(await make())], [14, 4, 0])
    assert.equal((await follow(second, [{ attachment_id: shared.attachment_id }])).status, 200)
    assert.deepEqual([await kept(first), await kept(second)], [10, 4])
  })

  test('uploads are in the audit log, refused ones too', async () => {
    const { store } = face()
    const [one] = await prepare(`runs/${await make()}`, 1)
    assert(one)
    await upload(one, 'x')
    const unsigned = new URL(one.upload_url)
    unsigned.search = ''
    await upload({ upload_url: unsigned.href }, 'x')
    const noted = async () =>
      (await listAudit(store.db, { target: one.attachment_id })).entries.map(
        ({ action, status, key_id }) => ({
          ...{ action, status, is_known: key_id !== null },
        }),
      )
    await until('both entries', async () => (await noted()).length === 2)
    const action = 'PUT /uploads/attachments/:attachment_id'
    assert.deepEqual(
      (await noted()).sort((a, b) => Number(a.status) - Number(b.status)),
      [
        { action, status: 200, is_known: true },
        { action, status: 404, is_known: false },
      ],
    )
  })

  test('nobody else sends or replaces a file, and none is over its limits', async () => {
    const { other, viewer, fetch } = face()
    const run_id = await make()
    const [one] = await prepare(`runs/${run_id}`, 1)
    assert(one)
    await upload(one, 'mine')
    assert.equal((await follow(run_id, [{ attachment_id: one.attachment_id }], other)).status, 422)
    const unsigned = new URL(one.upload_url)
    unsigned.search = ''
    assert.equal((await upload({ upload_url: unsigned.href }, 'x')).status, 404)
    // The link is for this method only.
    assert.equal((await fetch(one.upload_url)).status, 405)
    assert.equal((await upload(one, 'x'.repeat(10 * 1024 ** 2 + 1))).status, 413)
    const body = { attachments: files(1) }
    const path = `/agent/runs/${run_id}/attachments/prepare`
    assert.equal((await viewer.call('POST', path, body)).status, 403)
    assert.equal((await other.call('POST', path, { attachments: files(26) })).status, 400)
    // Another run brings no more room.
    const statuses: number[] = []
    for (let asked = 0; asked < 9; asked += 1) {
      const place = `/agent/runs/${asked % 2 ? run_id : await make()}/attachments/prepare`
      statuses.push((await face().admin.call('POST', place, { attachments: files(25) })).status)
    }
    assert.deepEqual([statuses[0], statuses.at(-1)], [201, 409])
    assert.equal((await other.call('POST', path, body)).status, 201)
    const inline = (name: string) => ({ file_name: name, mime_type: 'text/plain', data: 'eA==' })
    const six = ['a', 'b', 'c', 'd', 'e', 'f'].map(inline)
    assert.match((await refusal(follow(run_id, six))).detail, /at most 5 attachments with data/)
    assert.match(
      (await refusal(follow(run_id, [{ file_name: 'a' }]))).detail,
      /attachments\.0\.mime_type: is required/,
    )
  })
})
