/** A disk that really fills: the data directory on a small file system of its own. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { until } from './support/cluster.ts'
import { apiOf, shell, startService, type TestService, temporaryDirectory } from './support/service.ts'
import { printed } from './support/traces.ts'

const MiB = 1024 ** 2
const data_dir = temporaryDirectory('small-disk')
const mounted =
  spawnSync('mount', ['-t', 'tmpfs', '-o', 'mode=700,size=600m', 'runyard-test', data_dir]).status === 0

describe('a disk that fills', { skip: mounted ? false : 'no file system can be mounted here' }, () => {
  let service: TestService
  let api: ReturnType<typeof apiOf>
  before(async () => {
    service = await startService({ data_dir })
    api = apiOf(service)
  })
  after(async () => {
    await service?.stop()
    spawnSync('umount', ['--lazy', data_dir])
  })
  const free = () => statfsSync(data_dir).bavail * statfsSync(data_dir).bsize

  test('keeps runs waiting until there is room again', async () => {
    const ballast = join(data_dir, 'ballast')
    writeFileSync(ballast, Buffer.alloc(free() - 45 * MiB))
    const run_id = await api.create({ prompt: shell('echo went') })
    await until('the refusal to claim', () => /no run is claimed/.test(service.log()))
    assert.equal((await api.get(run_id)).state, 'QUEUED')
    rmSync(ballast)
    assert.equal((await api.ended(run_id)).state, 'SUCCEEDED')
    assert.match(service.log(), /The disk has room again/)
  })

  test('is freed by ending the run that holds most of it; the others go on', async () => {
    const other = await api.create({ prompt: shell('until [ -e go ]; do sleep 0.2; done; echo went') })
    await api.until(other, ({ state }) => state === 'INPROGRESS')
    // Within its limit of 10 GiB. On a busy machine the disk is full before somebody looks, which must do no harm.
    const greedy = await api.create({
      prompt: shell('while head -c 4M /dev/zero >> big; do sleep 0.05; done; sleep 600'),
    })
    const { state, status_message } = await api.ended(greedy, 120)
    assert.deepEqual([state, status_message?.error_code], ['ERROR', 'resource_unavailable'])
    assert.match(
      status_message?.message ?? '',
      /disk of the worker is nearly full, and of its runs this one held most/,
    )
    await until('the space', () => free() > 300 * MiB)
    writeFileSync(join(data_dir, 'sandboxes/bubblewrap', `${other}-1`, 'workspace/go'), '')
    assert.equal((await api.ended(other)).state, 'SUCCEEDED')
    assert.equal(printed(await api.events(other)), 'went\n')
  })
})
