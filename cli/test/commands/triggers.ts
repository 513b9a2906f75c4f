/** Triggers on the command line, posted to as GitLab does. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Trigger, TriggerDelivery } from '@runyard/client'
import type { Ended } from '../runyard.ts'
import { home } from './service.ts'

const LIMIT = { timeout: 600_000 }

const trigger = (...args: string[]): Promise<Ended> => home.run(['trigger', ...args])
async function read<T>(...args: string[]): Promise<T> {
  const { code, stdout, stderr } = await trigger(...args, '-o', 'json')
  assert.equal(code, 0, stderr)
  return JSON.parse(stdout) as T
}

test('one is made, posted to, changed, replayed, paused and deleted', LIMIT, async () => {
  writeFileSync(join(home.directory, 'token'), 'a-good-token\n')
  const made = await trigger(
    ...[
      'create',
      'Issues',
      'Look',
      'at',
      '{{payload.title}}.',
      '--verification',
      'gitlab',
      '--host',
      'nobody',
    ],
    ...['--filter', 'payload.ok', '--secret-from', 'token', '--metadata', 'team=a', '--max-tokens', '5'],
  )
  assert.equal(made.code, 0, made.stderr)
  const [url = '', secret] = made.stdout.split('\n')
  assert.equal(secret, 'a-good-token')
  assert.match(made.stderr, /^Trigger [0-9a-f-]{36}\. .*\nKeep the secret now/)
  const post = async (body: object): Promise<Record<string, string>> => {
    const headers = { 'x-gitlab-token': 'a-good-token' }
    const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
    return (await answer.json()) as Record<string, string>
  }
  const first = await post({ ok: true, title: 'it' })
  const filtered = await post({ ok: false, title: 'that' })
  const shown = await trigger('get', 'Issues')
  assert.match(shown.stdout, /^trigger +[0-9a-f-]{36}\nname +Issues\naddress +http/)
  assert.match(shown.stdout, /\nfilter +payload\.ok\n[\s\S]*\n\nLook at \{\{payload\.title\}\}\.\n$/)
  assert.match((await trigger('list')).stdout, / Issues +gitlab +enabled +(just now|\d+[smh] ago) +team\n/)
  const { stdout: came } = await trigger('deliveries', 'Issues')
  assert.match(
    came,
    new RegExp(`^${filtered.delivery_id}  filtered\n  no event .*\n  The filter is not true`),
  )
  assert.match(came, new RegExp(`\n${first.delivery_id}  run_started\n  .*\n  run ${first.run_id}\n$`))

  writeFileSync(join(home.directory, 'schema.json'), '{"type":"object"}')
  const changes = ['--filter', '', '--title', 'T', '--metadata', 'more=b', '--output-schema', 'schema.json']
  const changed = await trigger('update', 'Issues', ...changes)
  assert.equal(changed.code, 0, changed.stderr)
  const after = await read<Trigger>('get', 'Issues')
  assert.deepEqual(
    [after.filter, after.title, after.metadata, after.budget, after.agent_config.worker_host],
    [undefined, 'T', { team: 'a', more: 'b' }, { max_tokens: 5 }, 'nobody'],
  )
  assert.deepEqual(after.output_schema, { type: 'object' })
  const tried = await trigger('try', 'Issues', '--filter', 'payload.ok == 7')
  assert.match(tried.stdout, /^DELIVERY +CAME +(EVENT +)?WOULD +REASON\n.* be left out +The filter/)
  assert.match((await trigger('try', 'Issues')).stdout, /( run +\n.*){2}|run *$/m)
  const again = await read<TriggerDelivery>('replay', 'Issues', filtered.delivery_id ?? '')
  assert.deepEqual([again.outcome, again.replay_of], ['run_started', filtered.delivery_id])
  const runs = await home.run(['list', '--trigger', after.trigger_id, '-o', 'json'])
  const { runs: listed } = JSON.parse(runs.stdout) as { runs: Array<{ run_id: string; title: string }> }
  assert.deepEqual(listed.map(({ run_id }) => run_id).sort(), [first.run_id, again.run_id].sort())

  assert.equal((await trigger('pause', 'Issues')).stderr, 'It is paused.\n')
  assert.equal((await post({ ok: true })).error_code, 'resource_not_found')
  assert.equal((await trigger('resume', after.trigger_id)).stderr, 'It is enabled.\n')
  assert.equal((await trigger('delete', 'Issues')).stderr, 'Deleted Issues.\n')
  assert.match((await trigger('list')).stderr, /^No triggers\. Make one: /)
})

test('what is wrong is said, and nothing is made', LIMIT, async () => {
  const wrong = await trigger('create', 'T', 'x', '--verification', 'github', '--filter', 'payload.a ==')
  assert.equal(wrong.code, 1)
  assert.match(wrong.stderr, /filter: line 1, column 13: /)
  assert.equal((await trigger('create', 'T', 'x')).code, 2)
  assert.equal((await trigger('get', 'T')).code, 1)
  assert.deepEqual(await read('list'), { triggers: [] })
})
