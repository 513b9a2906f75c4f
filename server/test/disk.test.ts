/** What agents may take of the disk, and what happens when it runs out. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { EnvironmentConfig } from '../src/contract/environment.ts'
import { apiOf, shell, startService, type TestService } from './support/service.ts'
import { assertWhole, ofType, printed } from './support/traces.ts'

const MiB = 1024 ** 2

describe('a run that takes more of the disk than its limit', { concurrency: 2 }, () => {
  let service: TestService
  let api: ReturnType<typeof apiOf>
  before(async () => {
    service = await startService()
    api = apiOf(service)
  })
  after(() => service?.stop())

  const create = async (command: string, config: Partial<EnvironmentConfig> = {}): Promise<string> => {
    const environment = { name: 'test', limits: { disk_mb: 64 }, ...config }
    const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', environment)
    return api.create({ prompt: shell(command), config: { environment_id: uid } })
  }
  const workspaceOf = (run_id: string, attempt: number) =>
    join(service.data_dir, 'sandboxes/bubblewrap', `${run_id}-${attempt}`)

  test('is ended, says why, and its workspace is not kept', async () => {
    const run_id = await create(`head -c ${200 * MiB} /dev/zero > big; touch /workspace/kept; sleep 600`)
    const run = await api.ended(run_id)
    assert.deepEqual([run.state, run.status_message?.error_code], ['FAILED', 'budget_exceeded'])
    assert.match(run.status_message?.message ?? '', /took \d+ MiB of disk; its limit is 64 MiB/)
    assert.match(run.status_message?.message ?? '', /limits\.disk_mb.*a follow-up starts with a fresh one/)
    assert(!existsSync(workspaceOf(run_id, 1)))

    await api.json('POST', `/agent/runs/${run_id}/followups`, { message: shell('ls -A; echo fresh') })
    assert.equal((await api.ended(run_id)).state, 'SUCCEEDED')
    const events = await api.events(run_id)
    assertWhole(events)
    assert.equal(printed(events), 'artifacts\nattachments\nfresh\n')
    assert(ofType(events, 'setup').some(({ data }) => /a fresh workspace/.test(data.name)))
  })

  test('is ended too where the file has no name any more, or lies in home or /tmp', async () => {
    const places = [
      'exec 3>gone; rm gone; cd /proc/self/fd; head -c 200M /dev/zero >&3',
      'cd; head -c 200M /dev/zero > x',
      'cd /tmp; head -c 200M /dev/zero > x',
    ]
    const runs = await Promise.all(places.map((command) => create(`${command}; sleep 600`)))
    for (const run_id of runs) {
      const { state, status_message } = await api.ended(run_id, 60)
      assert.deepEqual([state, status_message?.error_code], ['FAILED', 'budget_exceeded'])
    }
  })

  test('is ended by a flood of empty files', async () => {
    const flood = `perl -e 'for $d (1 .. 100) { mkdir "f$d"; for (1 .. 1000) { open my $f, ">", "f$d/$_" } }'; sleep 600`
    const { state, status_message } = await api.ended(await create(flood), 120)
    assert.equal(state, 'FAILED')
    assert.match(status_message?.message ?? '', /keeps \d+ files; at its disk limit it may keep 65536/)
  })

  test('is ended while its environment is set up', async () => {
    const setup_commands = ['head -c 200M /dev/zero > big; sleep 600', 'echo never']
    const run_id = await create('echo never', { setup_commands })
    const { state, status_message } = await api.ended(run_id)
    assert.deepEqual([state, status_message?.error_code], ['FAILED', 'budget_exceeded'])
    assert.equal(printed(await api.events(run_id)), '')
    assert(!existsSync(workspaceOf(run_id, 1)))
  })

  test('is not ended for holes, nor for what it has removed again', async () => {
    const run_id = await create(
      'truncate -s 1T sparse; for i in 1 2 3 4 5 6; do head -c 40M /dev/zero > x; sleep 0.5; rm x; done; echo went',
    )
    assert.equal((await api.ended(run_id)).state, 'SUCCEEDED')
    assert.equal(printed(await api.events(run_id)), 'went\n')
  })
})
