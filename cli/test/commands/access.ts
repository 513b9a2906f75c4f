/** Identities, grants and the audit log on the command line. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AgentIdentity, AuditEntry, Pool, Principal, QueuedRun, RunItem, Setting } from '@runyard/client'
import type { Ended } from '../runyard.ts'
import { home } from './service.ts'

const LIMIT = { timeout: 600_000 }

const run = (...args: string[]): Promise<Ended> => home.run(args)
async function done(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(...args)
  assert.equal(code, 0, stderr)
  return stdout
}

test('an identity is made, used, changed and deleted', LIMIT, async () => {
  const uid = (await done('identity', 'create', 'Fixer', '--harness', 'runbook', '--host', 'nobody')).trim()
  assert.match(uid, /^[0-9a-f-]{36}$/)
  assert.match(await done('identity', 'list'), new RegExp(`${uid} +Fixer +dev`))
  await done('identity', 'update', uid, '--name', 'Mender', '--skill', 'acme/app:fix', '--host', '')
  const shown = await done('identity', 'show', uid)
  assert.match(shown, /Name +Mender\n[\s\S]*Harness +runbook\nSkills +acme\/app:fix\nMade by +dev/)
  assert.doesNotMatch(shown, /Pool/)
  assert.equal((await run('identity', 'update', uid)).code, 2)

  const run_id = (await done('run', 'x', '--identity', uid, '--host', 'nobody', '--detach')).trim()
  const { executor } = JSON.parse(await done('get', run_id, '-o', 'json')) as RunItem
  assert.deepEqual(executor, { uid, type: 'service_account', display_name: 'Mender' })

  const key = (await done('identity', 'key', uid, '--role', 'viewer', '--expires', '2100-01-01')).trim()
  const own = JSON.parse(await done('identity', 'list', '--api-key', key, '-o', 'json'))
  assert.deepEqual(
    (own as { agents: AgentIdentity[] }).agents.map(({ name }) => name),
    ['Mender'],
  )
  assert.equal(await done('identity', 'delete', uid), 'Deleted Mender\n')
  const refused = await run('identity', 'list', '--api-key', key)
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /expired or revoked/)
})

test('pools are listed with what their workers do', LIMIT, async () => {
  const pool = JSON.parse(await done('pool', 'list', '-o', 'ndjson')) as Pool
  const { name, is_default, workers, workers_ready, slots_busy } = pool
  assert.deepEqual([name, is_default, workers, workers_ready, slots_busy], ['default', true, 1, 1, 0])
  assert.match(
    await done('pool', 'list'),
    new RegExp(
      `^POOL +WORKERS +READY +BUSY +QUEUED +FOR\\ndefault \\(default\\) +1 +1 +0/${pool.slots} +0 +everybody\\n$`,
    ),
  )
})

test('workers are listed with what they hold, and the queue with why its runs wait', LIMIT, async () => {
  assert.match(
    await done('workers', 'list'),
    /^WORKER +POOL +STATE +BUSY +HOST +VERSION +SANDBOX +SEEN +RUNS\n[0-9a-f]{8}\S* +default +ready +0\/\d+ +\S+ +\d+\.\d+\.\d+\S* +\S+ +in the service/,
  )
  assert.match((await run('workers', 'list', '--pool', 'nobodys')).stderr, /No workers/)
  assert.match((await run('queue', '--pool', 'nobodys')).stderr, /No runs are waiting/)
  const run_id = (await done('run', 'x', '--host', 'nobodys', '--detach')).trim()
  assert.match(
    await done('queue', '--pool', 'nobodys'),
    /^POOL +WAITING +OLDEST +READY +FREE\nnobodys +1 .* 0 +0\/0\n\nRUN +SINCE +TITLE +WHY\n.*No worker serves the pool "nobodys"/,
  )
  const waiting = JSON.parse(await done('queue', '--pool', 'nobodys', '-o', 'ndjson')) as QueuedRun
  assert.deepEqual([waiting.run_id, waiting.waiting.reason], [run_id, 'no_worker'])
  await done('cancel', run_id)
})

test('settings are shown to admins, those of secrets without a value', LIMIT, async () => {
  const table = await done('settings')
  assert.match(table, /^NAME +FROM +VALUE +WHAT IT DOES\n/)
  assert.match(table, /\nRUNYARD_SLOTS +default +8 +runs this worker executes at once\n/)
  const set = await done('settings', '--set')
  assert.match(set, /\nRUNYARD_MIN_SCHEDULE_SECONDS +environment +1 /)
  assert.doesNotMatch(set, /RUNYARD_SLOTS/)
  const settings = (await done('settings', '-o', 'ndjson')).trim().split('\n')
  assert(settings.map((line) => JSON.parse(line) as Setting).some(({ is_secret }) => is_secret))
})

test('people are listed, disabled and enabled, but not the last admin', LIMIT, async () => {
  const { uid, display_name } =
    (JSON.parse(await done('principal', 'list', '-o', 'ndjson')) as Principal) ?? {}
  assert.equal(display_name, 'dev')
  assert.match(await done('principal', 'list'), new RegExp(`^ID +NAME +.*ROLE\\n${uid} +dev +1 .* admin\\n`))
  assert.equal(await done('principal', 'enable', uid), 'Enabled dev\n')
  const link = await done('principal', 'add', 'Grace', '--role', 'viewer')
  assert.match(link, /^http\S+\/sign-in#token=\S+\n$/)
  assert.match(await done('principal', 'list'), / Grace +1 .* viewer\n/)
  const refused = await run('principal', 'disable', uid)
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /last admin key/)
})

test('grants are shown and replaced', LIMIT, async () => {
  const uid = (await done('identity', 'create', 'Gpu')).trim()
  assert.equal(
    await done('grant', 'show', 'pool', 'gpu'),
    'No grants: the pool gpu is for everybody who may write.\n',
  )
  assert.match(await done('grant', 'set', 'pool', 'gpu', uid), new RegExp(`${uid} +Gpu +dev`))
  assert.match(
    await done('grant', 'set', 'identity', uid),
    /No grants: the identity .* is for admins and who made it/,
  )
  assert.match(await done('grant', 'set', 'pool', 'gpu'), /No grants/)
  assert.equal((await run('grant', 'show', 'model', 'x')).code, 2)
})

test('the audit log says who did what', LIMIT, async () => {
  const lines = (await done('audit', '--action', 'createAgentIdentity', '-o', 'ndjson')).trim().split('\n')
  const entries = lines.map((line) => JSON.parse(line) as AuditEntry)
  assert.deepEqual(
    entries.map(({ principal_name, status }) => [principal_name, status]),
    [
      ['dev', 201],
      ['dev', 201],
    ],
  )
  const table = await done('audit', '--since', '1h', '--limit', '3')
  assert.match(table, /^TIME +WHO +ROLE +ACTION +STATUS +FROM +TARGET\n/)
  assert.equal(table.trim().split('\n').length, 4)
  assert.equal(await done('audit', '--until', '2020-01-01'), '')
})
