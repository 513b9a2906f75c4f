import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { openDiskBlobs } from './disk.ts'

const open = () => {
  const root = mkdtempSync(join(tmpdir(), 'runyard-blobs-'))
  return { root, blobs: openDiskBlobs(root) }
}

test('what is put can be read, replaced and deleted', async () => {
  const { blobs } = open()
  assert.equal(await blobs.put('runs/a/1', Buffer.from('one')), 3)
  assert.equal(await blobs.put('runs/a/1', Readable.from(['t', 'wo!'])), 4)
  const data = await blobs.get('runs/a/1')
  assert.equal(data && (await text(data)), 'two!')
  await blobs.delete('runs/a/1')
  await blobs.delete('runs/a/1')
  assert.equal(await blobs.get('runs/a/1'), null)
})

test('a stream that breaks leaves the old file and nothing else', async () => {
  const { root, blobs } = open()
  await blobs.put('kept', Buffer.from('old'))
  const broken = Readable.from(
    (function* () {
      yield 'half'
      throw new Error('cut')
    })(),
  )
  await assert.rejects(blobs.put('kept', broken), /cut/)
  assert.deepEqual(readdirSync(root), ['kept'])
  const data = await blobs.get('kept')
  assert.equal(data && (await text(data)), 'old')
})

for (const key of ['../escape', '/etc/passwd', 'a//b', 'a/./b', 'a/../b', '', 'a\u0000b', 'a b']) {
  test(`the key ${JSON.stringify(key)} is refused`, async () => {
    await assert.rejects(open().blobs.put(key, Buffer.alloc(0)), /Not a blob key/)
  })
}
