/** Bodies on their way: what lies in memory has a budget, attachments go to the storage as they come, and rights come first. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { after, before, test } from 'node:test'
import type { Trigger } from '../src/contract/trigger.ts'
import { until } from './support/cluster.ts'
import { onFace } from './support/face.ts'
import { makeKeys } from './support/seed-keys.ts'

const MiB = 1024 ** 2
const RUN = { prompt: 'x', config: { worker_host: 'nobody' } }

onFace('bodies on their way', (face) => {
  let keys: Record<'sender' | 'uploader' | 'stranger', string>
  let sockets: Socket[] = []
  before(async () => {
    keys = await makeKeys(face().store.db, {
      sender: { role: 'member' },
      uploader: { role: 'member' },
      stranger: { role: 'member' },
    })
  })
  after(() => {
    for (const socket of sockets) socket.destroy()
  })
  /** Sends the head and a beginning of a body, and no more. */
  const begin = async (
    path: string,
    { key, bytes, body }: { key?: string; bytes: number; body: string | Buffer },
  ): Promise<{ socket: Socket; status: () => number | null; said: () => string }> => {
    const { port } = new URL(await face().listen())
    const socket = connect(Number(port), '127.0.0.1')
    sockets.push(socket)
    await once(socket, 'connect')
    socket.on('error', () => {})
    let said = ''
    socket.on('data', (chunk) => {
      said += chunk
    })
    const authorization = key ? `Authorization: Bearer ${key}\r\n` : ''
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${authorization}Content-Type: application/json\r\nContent-Length: ${bytes}\r\n\r\n`,
    )
    socket.write(body)
    return {
      socket,
      said: () => said,
      status: () => (said === '' ? null : Number(said.split(' ')[1])),
    }
  }
  const hangUp = () => {
    for (const socket of sockets) socket.destroy()
    sockets = []
  }
  const keptFiles = async (): Promise<string[]> => {
    const keys: string[] = []
    for await (const { key } of face().blobs.list('runs')) keys.push(key)
    return keys
  }

  test('whoever may not send a follow-up is told so before the body is there', async () => {
    const run_id = await face()
      .as(keys.sender)
      .create({ ...RUN, team: false })
    const asked = await begin(`/api/v1/agent/runs/${run_id}/followups`, {
      ...{ key: keys.stranger, bytes: 60 * MiB, body: '{' },
    })
    await until('the refusal', () => asked.status() === 404)
    hangUp()
  })

  test('bodies that do not end use up the budget of who sends them, which comes back', async () => {
    const body = `{"name":"${'x'.repeat(1.9 * MiB)}`
    const unfinished = () =>
      begin('/api/v1/agent/environments', { key: keys.sender, bytes: 2 * MiB - 1, body })
    const begun = await Promise.all(Array.from({ length: 40 }, unfinished))
    // What is over is read on and forgotten: the answer comes to who has sent all.
    const rest = Buffer.alloc(2 * MiB - 1 - body.length, ' ')
    for (const { socket } of begun.slice(20)) socket.write(rest)
    const refused = () => begun.slice(20).filter(({ status }) => status() === 429)
    await until('the refusals', () => refused().length >= 12)
    assert.match(refused()[0]?.said() ?? '', /retry-after: \d/i)
    assert.match(refused()[0]?.said() ?? '', /16 MiB for each principal/)
    assert.equal((await face().as(keys.stranger).call('POST', '/agent/runs', RUN)).status, 200)
    hangUp()
    const large = { prompt: 'y'.repeat(MiB / 2), config: RUN.config }
    await until(
      'room again',
      async () => (await face().as(keys.sender).call('POST', '/agent/runs', large)).status === 200,
    )
  })

  test('who posts to a trigger without its secret shares what an address may send', async () => {
    const trigger = await face()
      .as(keys.sender)
      .json<Trigger>('POST', '/agent/triggers', {
        ...{ name: 'T', verification: 'github', prompt: 'x', agent_config: RUN.config },
      })
    const body = Buffer.alloc(2 * MiB - 1, 'x')
    const path = new URL(trigger.url).pathname
    const held = await Promise.all(Array.from({ length: 3 }, () => begin(path, { bytes: 2 * MiB, body })))
    await until('all to be read', () => held.every(({ socket }) => socket.writableLength === 0))
    const more = await Promise.all(
      Array.from({ length: 20 }, () =>
        begin(path, { bytes: 2 * MiB, body: Buffer.concat([body, body.subarray(0, 1)]) }),
      ),
    )
    await until('answers to all', () => more.every(({ status }) => status() !== null))
    const statuses = more.map(({ status }) => status())
    assert(statuses.filter((status) => status === 429).length >= 10, statuses.join(' '))
    hangUp()
  })

  test('requests that are sent ahead are answered one after another, and many of them end their connection', async () => {
    const { port } = new URL(await face().listen())
    const send = async (count: number): Promise<{ answers: number; is_open: boolean }> => {
      const socket = connect(Number(port), '127.0.0.1')
      sockets.push(socket)
      socket.on('error', () => {})
      let said = ''
      socket.on('data', (chunk) => {
        said += chunk
      })
      socket.write('GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'.repeat(count))
      const answers = () => said.split('"status":"ok"').length - 1
      await until('the answers or the end', async () => answers() === count || socket.destroyed)
      return { answers: answers(), is_open: !socket.destroyed }
    }
    assert.deepEqual(await send(10), { answers: 10, is_open: true })
    assert.equal((await send(1_000)).is_open, false)
    hangUp()
  })

  test('the body of a GET is not kept while its answer is on its way', async () => {
    const run_id = await face().as(keys.sender).create(RUN)
    const { port } = new URL(await face().listen())
    const socket = connect(Number(port), '127.0.0.1')
    sockets.push(socket)
    socket.write(
      `GET /api/v1/agent/runs/${run_id}/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${keys.sender}\r\n` +
        `Accept: text/event-stream\r\nContent-Length: ${64 * MiB}\r\n\r\n`,
    )
    socket.write(Buffer.alloc(32 * MiB))
    await until('all to be read', () => socket.writableLength === 0)
    hangUp()
  })

  test('attachments are in the storage before their body ends, and gone when it never does', async () => {
    const data = randomBytes(3 * MiB).toString('base64')
    const body = `{"prompt":"x","attachments":[{"file_name":"a.bin","mime_type":"a/b","data":"${data}"},{"file_name":"b","data":"`
    const send = () => begin('/api/v1/agent/runs', { key: keys.uploader, bytes: 60 * MiB, body })
    const before_it = await keptFiles()
    const begun = await Promise.all(Array.from({ length: 4 }, send))
    const news = async () =>
      (await keptFiles()).filter((key) => !before_it.includes(key) && !key.endsWith('.partial'))
    await until('four files', async () => (await news()).length === 4)
    const fifth = await begin('/api/v1/agent/runs', { key: keys.uploader, bytes: body.length, body })
    await until('the fifth to be refused', () => fifth.status() === 429)
    assert.deepEqual(
      begun.map(({ status }) => status()),
      [null, null, null, null],
    )
    hangUp()
    await until('the files to be gone', async () => (await news()).length === 0)
  })

  test('an attachment that was stored on its way is the run’s, and whatever is refused is not kept', async () => {
    const api = face().as(keys.uploader)
    const bytes = randomBytes(MiB)
    const file = { file_name: 'a.bin', mime_type: 'application/octet-stream', data: bytes.toString('base64') }
    const before_it = await keptFiles()
    const news = async () => (await keptFiles()).filter((key) => !before_it.includes(key))
    const refused: Array<[object, number]> = [
      [{ ...RUN, attachments: [file], priority: 1_000 }, 400],
      [{ ...RUN, attachments: [{ ...file, data: `${file.data}!` }] }, 400],
      [{ ...RUN, attachments: [file, file] }, 400],
      [{ ...RUN, attachments: [{ ...file, data: 'A'.repeat(14 * MiB) }] }, 413],
      [{ ...RUN, attachments: Array.from({ length: 6 }, (_, at) => ({ ...file, file_name: `${at}` })) }, 400],
    ]
    for (const [body, status] of refused)
      assert.equal((await api.call('POST', '/agent/runs', body)).status, status)
    await until('nothing to be kept', async () => (await news()).length === 0)
    const body = { ...RUN, attachments: [file] }
    const headers = { 'idempotency-key': 'one' }
    const create = async () => {
      const url = `/api/v1/agent/runs`
      const answer = await face().app.inject({
        ...{ method: 'POST', url, payload: body },
        headers: { ...headers, host: '127.0.0.1', authorization: `Bearer ${keys.uploader}` },
      })
      assert.equal(answer.statusCode, 200, answer.body)
      return answer.json<{ run_id: string }>().run_id
    }
    const run_id = await create()
    assert.equal(await create(), run_id)
    await until('one file', async () => (await news()).length === 1)
    const [key = ''] = await news()
    const kept = await face().blobs.get(key)
    assert(kept)
    assert.deepEqual(Buffer.concat(await kept.toArray()), bytes)
  })
})
