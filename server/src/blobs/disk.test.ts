import assert from 'node:assert/strict'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { type FileHandle, open as openFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { test } from 'node:test'
import type { Blobs } from './blobs.ts'
import { openDiskBlobs } from './disk.ts'

const open = () => {
  const root = mkdtempSync(join(tmpdir(), 'runyard-blobs-'))
  return { root, blobs: openDiskBlobs(root) }
}

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

test('zeros take up nothing and are read as they were', async () => {
  const { root, blobs } = open()
  const zeros = 8 * 1024 ** 2
  const parts = [Buffer.alloc(zeros), Buffer.from('in the middle'), Buffer.alloc(zeros + 1)]
  const whole = Buffer.concat(parts)
  for (const [key, data] of [
    ['stream', Readable.from(parts)],
    ['whole', whole],
  ] as const) {
    assert.equal(await blobs.put(key, data), whole.length)
    assert(statSync(join(root, key)).blocks * 512 < 1024 ** 2, key)
    const kept = await blobs.get(key)
    assert(kept && (await buffer(kept)).equals(whole), key)
  }
})

test('nothing is stored where too little of the disk is free', async () => {
  const { root } = open()
  const blobs = openDiskBlobs(root, { min_free_percent: 100 })
  await assert.rejects(blobs.put('a', Buffer.from('a')), { name: 'BlobsFull' })
  assert.deepEqual(readdirSync(root), [])
})

test('a file that vanishes while all are counted keeps none from being stored', async () => {
  const { root } = open()
  const programs = mkdtempSync(join(tmpdir(), 'runyard-du-'))
  writeFileSync(join(programs, 'du'), '#!/bin/sh\necho "4\t$5"\necho "du: cannot access x" >&2\nexit 1\n', {
    mode: 0o755,
  })
  const { PATH } = process.env
  process.env.PATH = `${programs}:${PATH}`
  try {
    const blobs = openDiskBlobs(root, { max_bytes: 8192 })
    assert.equal(await blobs.put('a', Buffer.alloc(4096)), 4096)
    await assert.rejects(blobs.put('b', Buffer.from('b')), { name: 'BlobsFull' })
  } finally {
    process.env.PATH = PATH
  }
})

test('a new file and the folders that were made for it are on the disk before the put returns', async () => {
  const { root, blobs } = open()
  const handle = await openFile(root, 'r')
  const prototype: FileHandle = Object.getPrototypeOf(handle)
  await handle.close()
  const { sync } = prototype
  const synced: string[] = []
  prototype.sync = async function (this: FileHandle) {
    synced.push(readlinkSync(`/proc/self/fd/${this.fd}`))
    await sync.call(this)
  }
  try {
    await blobs.put('runs/a/1', Buffer.from('four'))
  } finally {
    prototype.sync = sync
  }
  assert.deepEqual(synced, [join(root, 'runs/a'), join(root, 'runs'), root])
})

const listed = async (blobs: Blobs, folder: string): Promise<string[]> =>
  (await Array.fromAsync(blobs.list(folder))).map(({ key }) => key).sort()

test('everything in a folder is listed, with its size and age, and what a killed put left', async () => {
  const { root, blobs } = open()
  assert.deepEqual(await listed(blobs, 'runs'), [])
  for (const key of ['runs/a/1', 'runs/a/files/2', 'runs/b/3', 'other/4'])
    await blobs.put(key, Buffer.from('four'))
  writeFileSync(join(root, 'runs/b/4.0.partial'), 'half')
  assert.deepEqual(await listed(blobs, 'runs'), [
    'runs/a/1',
    'runs/a/files/2',
    'runs/b/3',
    'runs/b/4.0.partial',
  ])
  for await (const { bytes, modified_at } of blobs.list('runs')) {
    assert.equal(bytes, 4)
    assert(Math.abs(Date.now() - modified_at) < 60_000)
  }
  for await (const { key } of blobs.list('runs')) await blobs.delete(key)
  assert.deepEqual(await listed(blobs, 'runs'), [])
})

test('a listing copes with what vanishes meanwhile, and leaves alone what no key can name', async () => {
  const { root, blobs } = open()
  for (let n = 0; n < 100; n += 1) await blobs.put(`runs/${n}/file`, Buffer.from('x'))
  writeFileSync(join(root, 'runs/not a key'), '')
  symlinkSync('/etc', join(root, 'runs/link'))
  let seen = 0
  for await (const _ of blobs.list('runs')) {
    seen += 1
    for (let n = 1; n < 100; n += 1) rmSync(join(root, `runs/${n}`), { recursive: true, force: true })
  }
  assert(seen <= 100)
  assert(existsSync(join(root, 'runs/not a key')))
})

test('empty folders go with a listing, also while files are put into them', async () => {
  const { root, blobs } = open()
  mkdirSync(join(root, 'runs/a/artifacts'), { recursive: true })
  mkdirSync(join(root, 'runs/b'), { recursive: true })
  writeFileSync(join(root, 'runs/b/not a key'), '')
  assert.deepEqual(await listed(blobs, 'runs'), [])
  assert.deepEqual(readdirSync(join(root, 'runs')), ['b'])

  let putting = true
  const list = async () => {
    while (putting) await listed(blobs, 'runs')
  }
  const listing = Promise.all([list(), list()])
  try {
    for (let n = 0; n < 100; n += 1) {
      await blobs.put('runs/c/attachments/file', Buffer.from('x'))
      await blobs.delete('runs/c/attachments/file')
    }
  } finally {
    putting = false
    await listing
  }
})
