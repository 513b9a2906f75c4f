/** What every storage of blobs does, on the disk and on a server that speaks S3. */
import assert from 'node:assert/strict'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { missingS3, type S3Server, startS3 } from '../../test/support/s3-server.ts'
import type { Blobs } from './blobs.ts'
import { openDiskBlobs } from './disk.ts'
import { openS3Blobs } from './s3.ts'
import { createS3Client } from './s3-client.ts'

const MiB = 1024 ** 2
/** An empty storage and what opens it again. */
type OpenStorage = () => (options?: { max_bytes?: number }) => Blobs

describe('blobs on the disk', () => {
  conform(() => {
    const root = mkdtempSync(join(tmpdir(), 'runyard-blobs-'))
    return (options) => openDiskBlobs(root, options)
  })
})

describe('blobs on S3', { skip: missingS3() }, () => {
  let server: S3Server
  let opened = 0
  before(async () => {
    server = await startS3()
  })
  after(() => server?.stop())
  conform(() => {
    opened += 1
    const place = server.place(`storage-${opened}/of/this/`)
    return (options) => openS3Blobs(createS3Client(place), place, options)
  })
})

function conform(openStorage: OpenStorage): void {
  const open = (): Blobs => openStorage()()

  test('what is put can be read, replaced and deleted', async () => {
    const blobs = open()
    assert.equal(await blobs.put('runs/a/1', Buffer.from('one')), 3)
    assert.equal(await blobs.put('runs/a/1', Readable.from(['t', 'wo!'])), 4)
    const data = await blobs.get('runs/a/1')
    assert.equal(data && (await text(data)), 'two!')
    await blobs.delete('runs/a/1')
    await blobs.delete('runs/a/1')
    assert.equal(await blobs.get('runs/a/1'), null)
  })

  test('nothing is something, too', async () => {
    const blobs = open()
    assert.equal(await blobs.put('whole', Buffer.alloc(0)), 0)
    assert.equal(await blobs.put('stream', Readable.from([])), 0)
    for (const key of ['whole', 'stream']) {
      const data = await blobs.get(key)
      assert.equal(data && (await text(data)), '')
    }
  })

  test('a stream of any length and odd pieces is kept as it was', async () => {
    const blobs = open()
    const pieces = [1, 65_536, 3, 12 * MiB, 131_072, 7 * MiB + 1, 70_000].map((length, at) =>
      Buffer.alloc(length, at % 2 ? 0 : at + 1),
    )
    const whole = Buffer.concat(pieces)
    assert.equal(await blobs.put('odd', Readable.from(pieces)), whole.length)
    const kept = await blobs.get('odd')
    assert(kept && (await buffer(kept)).equals(whole))
  })

  for (const bytes of [0, 20 * MiB])
    test(`a stream that breaks after ${bytes} bytes leaves the old file and nothing else`, async () => {
      const blobs = open()
      await blobs.put('runs/kept', Buffer.from('old'))
      const cut = new Error('cut')
      const broken = Readable.from(
        (function* () {
          for (let sent = 0; sent < bytes; sent += MiB) yield Buffer.alloc(MiB, 1)
          throw cut
        })(),
      )
      await assert.rejects(blobs.put('runs/kept', broken), (error) => error === cut)
      await assert.rejects(blobs.put('runs/new', Readable.from(broken)))
      assert.deepEqual(await listed(blobs, 'runs'), ['runs/kept'])
      const data = await blobs.get('runs/kept')
      assert.equal(data && (await text(data)), 'old')
    })

  for (const key of ['../escape', '/etc/passwd', 'a//b', 'a/./b', 'a/../b', '', 'a\u0000b', 'a b', 'a/'])
    test(`the key ${JSON.stringify(key)} is refused`, async () => {
      const blobs = open()
      await assert.rejects(blobs.put(key, Buffer.alloc(0)), /Not a blob key/)
      await assert.rejects(blobs.get(key), /Not a blob key/)
      await assert.rejects(blobs.delete(key), /Not a blob key/)
      await assert.rejects(listed(blobs, key), /Not a blob key/)
    })

  test('nothing is stored beyond what all blobs may take up', async () => {
    const storage = openStorage()
    await storage().put('before', Buffer.alloc(600_000, 1))
    const limited = storage({ max_bytes: 1_000_000 })
    await limited.put('a', Buffer.alloc(500_000, 1))
    const unread = Readable.from([Buffer.alloc(1, 1)])
    await assert.rejects(limited.put('b', unread), { name: 'BlobsFull' })
    assert(unread.destroyed)
    assert.equal(await limited.get('b'), null)
  })

  test('everything in a folder is listed, with its size and age', async () => {
    const blobs = open()
    assert.deepEqual(await listed(blobs, 'runs'), [])
    for (const key of ['runs/a/1', 'runs/a/files/2', 'runs/b/3', 'runsb/4', 'other/5'])
      await blobs.put(key, Buffer.from('four'))
    assert.deepEqual(await listed(blobs, 'runs'), ['runs/a/1', 'runs/a/files/2', 'runs/b/3'])
    for await (const { bytes, modified_at } of blobs.list('runs')) {
      assert.equal(bytes, 4)
      assert(Math.abs(Date.now() - modified_at) < 60_000)
    }
    for await (const { key } of blobs.list('runs')) await blobs.delete(key)
    assert.deepEqual(await listed(blobs, 'runs'), [])
    assert.deepEqual(await listed(blobs, 'runsb'), ['runsb/4'])
  })

  test('a reader may stop at any byte, or never begin', async () => {
    const blobs = open()
    await blobs.put('large', Buffer.alloc(4 * MiB, 1))
    for (let n = 0; n < 60; n += 1) {
      const data = await blobs.get('large')
      assert(data)
      if (n % 2) for await (const _ of data) break
      data.destroy()
    }
  })
}

const listed = async (blobs: Blobs, folder: string): Promise<string[]> =>
  (await Array.fromAsync(blobs.list(folder))).map(({ key }) => key).sort()
