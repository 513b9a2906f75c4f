import assert from 'node:assert/strict'
import { closeSync, mkdtempSync, readdirSync, readSync, rmSync, utimesSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { removeOldPipes, takePipes } from './pipes.ts'

const folder = mkdtempSync(join(tmpdir(), 'runyard-test-'))
const tmpdir_before = process.env.TMPDIR
before(() => {
  process.env.TMPDIR = folder
})
after(() => {
  if (tmpdir_before === undefined) delete process.env.TMPDIR
  else process.env.TMPDIR = tmpdir_before
  rmSync(folder, { recursive: true, force: true })
})

test('pipes carry what is written, and have no name', async () => {
  const { out, err } = await takePipes(['out', 'err'])
  assert.deepEqual(readdirSync(folder), [])
  const read = Buffer.alloc(8)
  for (const [pipe, word] of [
    [out, 'out'],
    [err, 'err'],
  ] as const) {
    writeSync(pipe.write, word)
    assert.equal(read.toString('utf8', 0, readSync(pipe.read, read)), word)
    closeSync(pipe.write)
    closeSync(pipe.read)
  }
})

test('what a killed process left of them is removed, and nothing that is being made', async () => {
  const [old, young] = [
    mkdtempSync(join(folder, 'runyard-pipes-')),
    mkdtempSync(join(folder, 'runyard-pipes-')),
  ]
  const other = mkdtempSync(join(folder, 'somebody-else-'))
  for (const path of [old, other]) utimesSync(path, 0, 0)
  assert.equal(await removeOldPipes(), 1)
  assert.deepEqual(
    readdirSync(folder)
      .map((name) => join(folder, name))
      .sort(),
    [young, other].sort(),
  )
})
