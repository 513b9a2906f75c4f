import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { SandboxRecords } from './sandbox-records.ts'

const root = mkdtempSync(join(tmpdir(), 'runyard-records-'))
after(() => rmSync(root, { recursive: true }))

async function open(name: string): Promise<SandboxRecords<{ taken: number }>> {
  const records = new SandboxRecords<{ taken: number }>(join(root, name))
  await records.open()
  return records
}

test('of many who change the same state each sees the change before', async () => {
  const records = await open('race')
  const record = await records.create('run', 1, { taken: 0 })
  assert.ok(record)
  const others = await Promise.all(Array.from({ length: 20 }, () => open('race')))
  await Promise.all(
    others.map((other) =>
      other.update(record.id, (now) => ({ ...now, details: { taken: now.details.taken + 1 } })),
    ),
  )
  assert.equal((await records.read(record.id))?.details.taken, 20)
})

test('an attempt is made once; a refused change leaves everything alone', async () => {
  const records = await open('once')
  const made = await Promise.all([1, 2, 3].map(() => records.create('run', 1, { taken: 0 })))
  assert.equal(made.filter((record) => record !== null).length, 1)
  const [record] = await records.list()
  assert.ok(record)
  assert.equal(await records.update(record.id, () => null), null)
  assert.deepEqual(await records.read(record.id), record)
  assert.equal(existsSync(records.successorFile(record)), false)
  await records.update(record.id, (now) => ({ ...now, attempt: 2 }))
  assert.equal(existsSync(records.successorFile(record)), true)
})

test('finds the sandboxes of one run only, whatever its id looks like', async () => {
  const records = await open('find')
  const ids = ['a', 'a-1', '../../etc', 'a b', '0198f0c5-0000-7000-8000-000000000000']
  for (const id of ids) await records.create(id, 1, { taken: 0 })
  await records.create('a', 2, { taken: 0 })
  for (const id of ids) {
    const found = await records.ofRun(id)
    assert.deepEqual(
      found.map(({ run_id, attempt }) => [run_id, attempt]),
      id === 'a'
        ? [
            ['a', 2],
            ['a', 1],
          ]
        : [[id, 1]],
    )
    for (const { id: name } of found) assert.match(name, /^[\w-]+$/)
  }
  assert.equal((await records.list()).length, 6)
})

test('removal is final and may be repeated', async () => {
  const records = await open('remove')
  const record = await records.create('run', 1, { taken: 0 })
  assert.ok(record)
  await records.remove(record.id)
  await records.remove(record.id)
  assert.equal(await records.read(record.id), null)
  assert.equal(await records.update(record.id, (now) => now), null)
})

test('what killed processes left without a record is removed, once it is old', async () => {
  const records = await open('left')
  const record = await records.create('run', 1, { taken: 0 })
  assert(record)
  const [unmade, removed, young] = ['unmade-1', 'removed-12', 'young-1']
  for (const name of [unmade, removed, young]) mkdirSync(records.directory(name))
  writeFileSync(join(records.directory(removed), 'draft-x'), '')
  writeFileSync(records.directory('place-7c9c1b0e-8a57-4f6e-9f3b-000000000001'), '')
  mkdirSync(records.directory('common'))
  for (const name of readdirSync(records.root)) if (name !== young) utimesSync(records.directory(name), 0, 0)
  assert.equal(await records.removeLeftovers(), 3)
  assert.deepEqual(readdirSync(records.root).sort(), ['common', record.id, young].sort())
  assert.deepEqual(await records.read(record.id), record)
})

test('what fills the disk can be removed', async (context) => {
  const root = mkdtempSync(join(tmpdir(), 'runyard-full-'))
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'runyard-test', root]).status === 0
  context.after(() => {
    if (mounted) spawnSync('umount', ['--lazy', root])
    rmSync(root, { recursive: true })
  })
  if (!mounted) return context.skip('no file system can be mounted here')
  const records = new SandboxRecords<{ note: string }>(root)
  await records.open()
  const record = await records.create('run', 1, { note: 'x' })
  assert(record)
  const { status } = spawnSync('sh', ['-c', 'cat /dev/zero > big'], { cwd: records.directory(record.id) })
  assert.notEqual(status, 0, 'the disk is full')
  const change = (current: typeof record) => ({ ...current, details: { note: 'y' } })
  await assert.rejects(records.update(record.id, change), { code: 'ENOSPC' })
  const removed = await records.update(record.id, (current) => ({ ...current, removed: true }))
  assert.deepEqual(removed, { ...record, version: 2, removed: true })
  assert.deepEqual(await records.read(record.id), removed)
  await records.remove(record.id)
  assert.deepEqual(await records.list(), [])
})
