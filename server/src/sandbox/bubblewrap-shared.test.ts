import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { BubblewrapShared } from './bubblewrap-shared.ts'

const root = mkdtempSync(join(tmpdir(), 'runyard-shared-'))
after(() => rmSync(root, { recursive: true }))

test('users that killed processes took, and drafts they left, are given back once they are old', async () => {
  const shared = new BubblewrapShared(root)
  await shared.prepare('/bin/sh')
  const files = readdirSync(shared.files)
  const [used, lost, fresh] = [await shared.takeUser(), await shared.takeUser(), await shared.takeUser()]
  const draft = join(shared.files, 'passwd-7c9c1b0e-8a57-4f6e-9f3b-000000000001')
  writeFileSync(draft, '')
  const fileOf = (uid: number) => join(root, 'uids', String(uid))
  for (const path of [fileOf(used), fileOf(lost), draft, ...files.map((name) => join(shared.files, name))])
    utimesSync(path, 0, 0)
  const unused = (await shared.listUsers()).filter((uid) => uid !== used)
  assert.equal(await shared.removeLeftovers(unused), 2)
  assert.deepEqual((await shared.listUsers()).sort(), [used, fresh].sort())
  assert.deepEqual(readdirSync(shared.files).sort(), files.sort())
})
