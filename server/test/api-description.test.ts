/**
 * The service does what openapi.json says: schemathesis makes requests from it, right and wrong ones, follows its links, and
 * checks each answer. What it asks of agents is run in bubblewrap, without a network.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { setupPython } from '../../scripts/setup-python.ts'
import { LONG } from './support/once.ts'
import { apiOf, shell, startService, type TestService, temporaryDirectory } from './support/service.ts'

const LIMIT = { timeout: 3_000_000 }
const DOCUMENT = fileURLToPath(new URL('../../openapi.json', import.meta.url))
const HOOKS = fileURLToPath(new URL('./support/schemathesis_hooks.py', import.meta.url))
const CONFIG = fileURLToPath(new URL('./support/schemathesis.toml', import.meta.url))
/** Of each operation; the phase `coverage` makes some five thousand besides. */
const EXAMPLES = LONG
  ? ['-n', '100', '--phases', 'coverage,fuzzing,stateful']
  : ['-n', '4', '--phases', 'fuzzing,stateful']
const python = setupPython()
const skip = 'missing' in python ? python.missing : false

describe('openapi.json', { ...LIMIT, skip }, () => {
  let service: TestService
  let api: ReturnType<typeof apiOf>
  before(async () => {
    service = await startService({ env: { RUNYARD_EGRESS: 'none', RUNYARD_LOG_LEVEL: 'error' } })
    api = apiOf(service)
    // Something to find, for requests that are made of earlier answers.
    const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', { name: 'there' })
    const schedule = { name: 'there', cron_schedule: '0 0 1 1 *', prompt: 'x', enabled: false }
    await api.json('POST', '/agent/schedules', schedule)
    await api.json('POST', '/agent/webhooks', { url: 'https://runyard.test/hook', enabled: false })
    await api.ended(await api.create({ prompt: shell('echo there'), config: { environment_id: uid } }))
  }, LIMIT)
  after(() => service?.stop(), LIMIT)

  test('is what the service does, whatever it is asked', LIMIT, async () => {
    assert('python' in python)
    const child = spawn(
      join(dirname(python.python), 'schemathesis'),
      [
        ...['--config-file', CONFIG, 'run', DOCUMENT, '--url', service.base_url, '--seed', '1', ...EXAMPLES],
        ...['--header', `Authorization: Bearer ${service.api_key}`, '--checks', 'all'],
        ...['--generation-database', 'none', '--no-shrink', '--continue-on-failure'],
      ],
      // It leaves folders where it runs.
      {
        cwd: temporaryDirectory('schemathesis'),
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { PATH: process.env.PATH, SCHEMATHESIS_HOOKS: HOOKS },
      },
    )
    const closed = once(child, 'close')
    const [printed, complaints] = await Promise.all([text(child.stdout), text(child.stderr)])
    const [code] = (await closed) as [number | null]
    assert.equal(code, 0, printed + complaints + service.log())
    const { generated, passed } =
      /(?<generated>\d+) generated, (?<passed>\d+) passed/.exec(printed)?.groups ?? {}
    assert.equal(generated, passed, printed)
    assert(Number(generated) >= (LONG ? 10_000 : 200), printed)
    assert.equal(service.log(), '', 'nothing was worth an error in the log')
    // With its key revoked every request would have been refused, which every operation may.
    assert.equal((await api.call('GET', '/agent/runs')).status, 200)
  })
})
