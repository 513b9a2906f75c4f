/** Fields of the newest wire format: served, honoured, recorded, or refused by name (docs/request-fields.md). */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { sql } from 'kysely'
import type { Environment } from '../src/contract/environment.ts'
import type { ErrorBody } from '../src/contract/error.ts'
import type { AgentIdentity } from '../src/contract/identity.ts'
import type { ListRunsResponse, RunItem } from '../src/contract/run.ts'
import type { ScheduledAgentItem } from '../src/contract/schedule.ts'
import { onFace } from './support/face.ts'

onFace('fields of the wire format', (face) => {
  const make = (body: object) =>
    face().admin.create({
      ...body,
      config: { worker_host: randomUUID(), ...('config' in body ? Object(body.config) : {}) },
    })
  const list = async (query: string): Promise<RunItem[]> =>
    (await face().admin.json<ListRunsResponse>('GET', `/agent/runs?${query}`)).runs

  test('what was submitted is the prompt and what came before the run began', async () => {
    const { admin, worker } = face()
    const metadata = { set: randomUUID() }
    const run_id = await admin.create({ prompt: 'First.', metadata, config: { worker_host: worker.pool } })
    const follow = (message: string) => admin.json('POST', `/agent/runs/${run_id}/followups`, { message })
    assert.equal((await admin.get(run_id)).submitted_prompt, 'First.')
    await follow('Second.')
    await follow('é'.repeat(3000))
    await worker.start(run_id)
    await follow('Too late.')
    const whole = `First.\n\nSecond.\n\n${'é'.repeat(3000)}`
    const run = await admin.get(run_id)
    assert.deepEqual([run.prompt, run.submitted_prompt], ['First.', whole])
    const [listed] = await list(`metadata[set]=${metadata.set}`)
    assert.equal(listed?.submitted_prompt, whole.slice(0, 2048))
    const long = await make({ prompt: '🦊'.repeat(2049), metadata: { set: 'long' } })
    const [cut] = await list('metadata[set]=long')
    assert.deepEqual([cut?.run_id, cut?.submitted_prompt], [long, '🦊'.repeat(2048)])
  })

  test('a run names the page of what created it', async () => {
    const { admin, origin, store } = face()
    const run_id = await make({ prompt: 'x' })
    assert.equal((await admin.get(run_id)).trigger_url, undefined)
    const [schedule_id, trigger_id] = [randomUUID(), randomUUID()]
    const come = (column: 'schedule' | 'trigger', origin_of: object) =>
      sql`update runs set ${sql.ref(column)} = ${JSON.stringify(origin_of)}::jsonb where run_id = ${run_id}`.execute(
        store.db,
      )
    await come('trigger', { trigger_id, delivery_id: randomUUID() })
    assert.equal((await admin.get(run_id)).trigger_url, `${origin}/triggers/${trigger_id}`)
    await come('schedule', { schedule_id, schedule_name: 'n', cron_schedule: '0 9 * * *' })
    assert.equal((await admin.get(run_id)).trigger_url, `${origin}/schedules/${schedule_id}`)
  })

  test('what a run cannot have is refused by name, and what changes nothing is kept', async () => {
    const { admin } = face()
    const store = { uid: 'm', access: 'read_only', instructions: 'Read it.' }
    for (const [config, named] of [
      [{ secrets: [{ name: 'A' }] }, /config\.secrets; name them in the environment/],
      [{ runner_id: 'r' }, /config\.runner_id/],
      [{ memory_stores: [store] }, /config\.memory_stores/],
      [
        { inference_providers: { aws: { role_arn: 'arn:aws:iam::1:role/r', region: 'eu-west-1' } } },
        /inference_providers/,
      ],
      [{ credential_strategy: 'CREATOR' }, /credential_strategy: CREATOR/],
    ] as const) {
      const answer = await admin.call('POST', '/agent/runs', { prompt: 'x', config })
      const { status, error_code, detail = '' } = (await answer.json()) as ErrorBody
      assert.deepEqual([status, error_code], [403, 'feature_not_available'])
      assert.match(detail, named)
    }
    const config = {
      ...{ secrets: [], memory_stores: [], inference_providers: { aws: { disabled: true } } },
      ...{ credential_strategy: 'EXECUTOR', computer_use_model_id: 'm', idle_timeout_minutes: 0 },
    }
    const { agent_config } = await admin.get(await make({ prompt: 'x', config }))
    assert.deepEqual({ ...agent_config, ...config }, agent_config)
    const identity = { name: 'n', inference_providers: { aws: { disabled: true } } }
    const { uid } = await admin.json<AgentIdentity>('POST', '/agent/identities', identity)
    await admin.json('DELETE', `/agent/identities/${uid}`)
  })

  test('an environment takes its secrets by their names alone as well, and answers with objects', async () => {
    const { admin } = face()
    for (const name of ['OLD_FORM', 'NEW_FORM'])
      await admin.json('PUT', `/agent/secrets/${name}`, { value: 'a good value' })
    const path = '/agent/environments'
    const asked = { name: 'of secrets', secrets: ['OLD_FORM', { name: 'NEW_FORM' }] }
    const made = await admin.json<Environment>('POST', path, asked)
    const expected = [{ name: 'OLD_FORM' }, { name: 'NEW_FORM' }]
    assert.deepEqual(made.config.secrets, expected)
    const place = `${path}/${made.uid}`
    assert.deepEqual((await admin.json<Environment>('PUT', place, made.config)).config.secrets, expected)
    assert.deepEqual((await admin.json<Environment>('GET', place)).config.secrets, expected)
    const { environments } = await admin.json<{ environments: Environment[] }>('GET', path)
    assert.deepEqual(environments.find(({ uid }) => uid === made.uid)?.config.secrets, expected)
    for (const [secrets, detail] of [
      [[{ name: 'A-B' }], /secrets\.0\.name: must be a variable name/],
      [['A-B'], /secrets\.0: must be a variable name/],
      [[{ name: 'NOT_THERE' }], /have a secret NOT_THERE/],
    ] as const) {
      const refused = await admin.call('PUT', place, { name: 'of secrets', secrets })
      assert.equal(refused.status, 400)
      assert.match(((await refused.json()) as ErrorBody).detail ?? '', detail)
    }
    const clash = { name: 'of secrets', secrets: [{ name: 'NEW_FORM' }], variables: { NEW_FORM: 'x' } }
    assert.equal((await admin.call('PUT', place, clash)).status, 400)
    assert.deepEqual((await admin.json<Environment>('DELETE', place)).config.secrets, expected)
  })

  test('a schedule shows the environment of its runs, which lists leave out', async () => {
    const { admin } = face()
    await admin.json('PUT', '/agent/secrets/OF_SCHEDULES', { value: 'a good value' })
    const setup = {
      ...{ name: 'of schedules', variables: { A: 'hidden' }, setup_commands: ['true'] },
      secrets: [{ name: 'OF_SCHEDULES' }],
    }
    const { uid, config } = await admin.json<Environment>('POST', '/agent/environments', setup)
    const asked = {
      name: 'n',
      prompt: 'x',
      cron_schedule: '0 9 * * *',
      agent_config: { environment_id: uid },
    }
    const made = await admin.json<ScheduledAgentItem>('POST', '/agent/schedules', asked)
    assert.deepEqual(made.environment, config)
    assert.equal(made.environment?.variables?.A, '***')
    const read = () => admin.json<ScheduledAgentItem>('GET', `/agent/schedules/${made.id}`)
    assert.deepEqual((await read()).environment, config)
    const { schedules } = await admin.json<{ schedules: ScheduledAgentItem[] }>('GET', '/agent/schedules')
    assert.equal(schedules.find(({ id }) => id === made.id)?.environment, undefined)
    await admin.json('DELETE', `/agent/environments/${uid}`)
    assert.equal((await read()).environment, undefined)
  })

  test('any team that a client names is the one there is', async () => {
    const { admin } = face()
    const team = { 'x-warp-team-uid': 'team-of-another-service' }
    const config = { worker_host: randomUUID() }
    for (const [path, body] of [
      ['/agent/runs', { prompt: 'x', config }],
      ['/agent/identities', { name: 'of a team' }],
      ['/agent/environments', { name: 'of a team' }],
      ['/agent/schedules', { name: 'of a team', prompt: 'x', cron_schedule: '0 9 * * *' }],
    ] as const) {
      const made = await admin.call('POST', path, body, team)
      assert(made.ok, `${path}: ${made.status}`)
      const listed = await admin.call('GET', path, undefined, team)
      assert.equal(listed.status, 200)
      assert.match(await listed.text(), path === '/agent/runs' ? /"prompt":"x"/ : /of a team/)
    }
  })
})
