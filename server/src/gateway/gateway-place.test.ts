import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdtempSync, rmSync, utimesSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { choosePlace, makePlace, removeOldPlaces } from './gateway-place.ts'
import { openGateway } from './open-gateway.ts'

const PROGRAM = fileURLToPath(new URL('../gateway-process.ts', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'runyard-place-'))
const before = process.env.TMPDIR
after(() => {
  if (before === undefined) delete process.env.TMPDIR
  else process.env.TMPDIR = before
  rmSync(folder, { recursive: true, force: true })
})

test('a temporary folder that the gateway’s user cannot pass is not taken', () => {
  process.env.TMPDIR = folder
  chmodSync(folder, 0o1777)
  assert.equal(dirname(choosePlace().directory), folder)
  // Any other user than root runs the gateway as itself.
  const other = process.getuid?.() === 0 ? '/tmp' : folder
  for (const mode of [0o700, 0o755]) {
    chmodSync(folder, mode)
    assert.equal(dirname(choosePlace().directory), other)
  }
})

test('what killed gateways left goes, and nothing of living ones', { timeout: 60_000 }, async () => {
  process.env.TMPDIR = folder
  chmodSync(folder, 0o1777)
  const gateway = openGateway(PROGRAM, { error() {} })
  const { socket } = await gateway.open({ hosts: [], private_hosts: [] }, () => {})
  const [dead, young] = [choosePlace(), choosePlace()]
  for (const place of [dead, young]) makePlace(place)
  const living = dirname(socket)
  for (const path of [dead.directory, living]) utimesSync(path, 0, 0)
  await removeOldPlaces(choosePlace())
  assert.equal(existsSync(dead.directory), false)
  assert.deepEqual([existsSync(young.directory), existsSync(living)], [true, true])
  const answers = await new Promise((resolve) => {
    const client = connect(socket, () => resolve(true)).on('error', () => resolve(false))
    client.unref()
  })
  assert.equal(answers, true)
  await gateway.close()
  assert.equal(existsSync(living), false)
})
