/** What an environment may ask for: the operator's maxima, when it is written and when it is used. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import type { EnvironmentConfig } from '../src/contract/environment.ts'
import type { ErrorBody } from '../src/contract/error.ts'
import { apiOf, shell, startService, type TestService, temporaryDirectory } from './support/service.ts'

type Limits = NonNullable<EnvironmentConfig['limits']>

describe('the limits of an environment', () => {
  let service: TestService
  const data_dir = temporaryDirectory('data')
  before(async () => {
    service = await startService({ data_dir, env: { RUNYARD_MAX_CPUS: '2.5' } })
  })
  after(() => service?.stop())

  const write = (limits: Limits) =>
    apiOf(service).call('POST', '/agent/environments', { name: randomUUID(), limits })

  test('are refused above what the operator allows, by field, maximum and variable', async () => {
    const excesses: Array<[Limits, string, string]> = [
      [{ memory_mb: 1_048_576 }, 'limits.memory_mb', 'at most 8192 here (RUNYARD_MAX_MEMORY_MB)'],
      [{ pids: 32_768 }, 'limits.pids', 'at most 4096 here (RUNYARD_MAX_PIDS)'],
      [{ cpus: 2.6 }, 'limits.cpus', 'at most 2.5 here (RUNYARD_MAX_CPUS)'],
      [{ disk_mb: 51_201 }, 'limits.disk_mb', 'at most 51200 here (RUNYARD_MAX_DISK_MB)'],
      [{ setup_minutes: 61 }, 'limits.setup_minutes', 'at most 60 here (RUNYARD_MAX_SETUP_MINUTES)'],
    ]
    for (const [limits, field, says] of excesses) {
      const answer = await write(limits)
      assert.equal(answer.status, 400, field)
      const { error_code, detail } = (await answer.json()) as ErrorBody
      assert.equal(error_code, 'invalid_request')
      assert(detail?.startsWith(`${field}: `) && detail.includes(says), detail)
    }
    const most = { memory_mb: 8192, pids: 4096, cpus: 2.5, disk_mb: 51_200, setup_minutes: 60 }
    assert.equal((await write(most)).status, 201)
  })

  test('above what the operator allows by now end the run before anything of it runs', async () => {
    const { uid } = (await (await write({ memory_mb: 4096, disk_mb: 2048 })).json()) as { uid: string }
    await service.stop()
    service = await startService({
      data_dir,
      env: { RUNYARD_MAX_MEMORY_MB: '512', RUNYARD_MAX_PIDS: '64' },
    })
    const api = apiOf(service)
    const run_id = await api.create({ prompt: shell('echo ran'), config: { environment_id: uid } })
    const { state, status_message } = await api.ended(run_id)
    assert.deepEqual([state, status_message?.error_code], ['FAILED', 'feature_not_available'])
    assert.match(
      status_message?.message ?? '',
      /limits\.memory_mb: .*4096.*at most 512 here \(RUNYARD_MAX_MEMORY_MB\)/,
    )
    // Who names no limits gets the service's own, or the maxima where those are lower.
    const plain = await api.create({ prompt: shell('ulimit -u || true; echo ran') })
    assert.equal((await api.ended(plain)).state, 'SUCCEEDED')
  })
})
