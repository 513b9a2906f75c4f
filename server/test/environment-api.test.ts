/** Environments are named, changed and deleted, beside runs that use them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type Environment,
  type EnvironmentConfig,
  ListEnvironmentsResponse,
} from '../src/contract/environment.ts'
import type { ErrorBody } from '../src/contract/error.ts'
import type { ListRunsResponse } from '../src/contract/run.ts'
import { NOBODY, onEitherService } from './support/each-service.ts'
import { shell } from './support/service.ts'
import { printed } from './support/traces.ts'

const PATH = '/agent/environments'
const place = (reference: string): string => `${PATH}/${encodeURIComponent(reference)}`

onEitherService('environments', (service) => {
  const make = (config: EnvironmentConfig) => service().admin.json<Environment>('POST', PATH, config)
  const read = (reference: string) => service().admin.json<Environment>('GET', place(reference))
  const put = (reference: string, config: object) =>
    service().admin.json<Environment>('PUT', place(reference), config)
  const remove = (reference: string) => service().admin.json<Environment>('DELETE', place(reference))
  const refused = async (answer: Promise<Response>) => {
    const { status, error_code, detail, retryable } = (await (await answer).json()) as ErrorBody
    return { status, error_code, detail, retryable }
  }
  const printedBy = async (environment_id: string, command: string) => {
    const { admin } = service()
    const run_id = await admin.create({ prompt: shell(command), config: { environment_id } })
    const { state, status_message } = await admin.ended(run_id)
    assert.equal(state, 'SUCCEEDED', status_message?.message)
    return printed(await admin.events(run_id))
  }

  test('are read, changed and deleted by name as by id', async () => {
    const names = [
      'plain',
      'Plain',
      'a/b?c#d%2F',
      'd\'oh "x" \\',
      '名前'.repeat(128),
      'é 😀',
      'a+b&c=d',
      '...',
    ]
    for (const name of names) {
      const made = await make({ name: ` ${name}\t` })
      assert.equal(made.config.name, name)
      assert.deepEqual(await read(name), made)
      assert.deepEqual(await read(made.uid), made)
      assert.deepEqual((await put(name, { name, description: 'changed' })).uid, made.uid)
      const changed = await put(made.uid, { name, description: 'again' })
      assert.deepEqual(await read(name), changed)
      assert.deepEqual(await remove(name), changed)
      for (const method of ['GET', 'PUT', 'DELETE']) {
        const body = method === 'PUT' ? { name } : undefined
        const gone = await refused(service().admin.call(method, place(name), body))
        assert.deepEqual(gone, {
          status: 404,
          error_code: 'resource_not_found',
          detail: 'There is no environment with this name.',
          retryable: false,
        })
      }
    }
  })

  test('have names of their own: the second of two creates at once is refused', async () => {
    const { admin, other } = service()
    const answers = await Promise.all(
      [admin, other, admin, other].map((caller) => caller.call('POST', PATH, { name: 'twice' })),
    )
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 409, 409, 409])
    await make({ name: 'once' })
    const taken = {
      status: 409,
      error_code: 'conflict',
      detail: 'name: there is an environment called "twice" already.',
      retryable: false,
    }
    assert.deepEqual(await refused(other.call('PUT', place('once'), { name: 'twice' })), taken)
    // A refused create leaves its key free.
    const key = { 'idempotency-key': 'taken' }
    assert.deepEqual(await refused(admin.call('POST', PATH, { name: 'twice' }, key)), taken)
    await remove('twice')
    assert.equal((await admin.call('POST', PATH, { name: 'twice' }, key)).status, 201)
  })

  test('are replaced whole, but for values that are kept', async () => {
    const { uid, ...before } = await make({
      name: 'replaced',
      description: 'first',
      setup_commands: ['echo first > made'],
      variables: { KEPT: 'kept value', CHANGED: 'old value', GONE: 'gone value' },
    })
    const { config } = await read(uid)
    assert.deepEqual(config.variables, { KEPT: '***', CHANGED: '***', GONE: '***' })
    const { description: _, ...rest } = config
    const changed = await put(uid, {
      ...rest,
      name: 'replaced again',
      variables: { KEPT: '***', CHANGED: 'new value', MORE: 'more' },
    })
    assert.deepEqual(changed.config, {
      name: 'replaced again',
      setup_commands: ['echo first > made'],
      variables: { KEPT: '***', CHANGED: '***', MORE: '***' },
    })
    assert(changed.last_updated > before.last_updated)
    assert.deepEqual([changed.created_at, changed.creator], [before.created_at, before.creator])
    const look = 'cat made; for v in "$KEPT" "$CHANGED" "$GONE"; do printf %s "$v" | tr a-z b-za; echo; done'
    const expected = 'first\nlfqu wbmvf\nofx wbmvf\n\n'
    assert.equal(await printedBy(uid, look), expected)

    // As it was read, it changes nothing.
    await put(uid, (await read(uid)).config)
    assert.equal(await printedBy('replaced again', look), expected)
    assert.equal((await put(uid, { name: 'replaced' })).config.variables, undefined)
    // What is gone is gone: the name alone brings no value back.
    assert.equal((await service().admin.call('PUT', place(uid), config)).status, 400)
  })

  test('are written by no viewer, read by all, and refuse what a create refuses', async () => {
    const { admin, other, viewer } = service()
    const { uid } = await make({ name: 'guarded', variables: { A: 'x'.repeat(60_000), B: 'b' } })
    for (const [method, body] of [
      ['PUT', { name: 'guarded', description: 'changed' }],
      ['DELETE', undefined],
    ] as const)
      assert.equal((await viewer.call(method, place('guarded'), body)).status, 403)
    assert.deepEqual(await viewer.json('GET', place('guarded')), await other.json('GET', place(uid)))
    const big = Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`V${i}`, 'x'.repeat(65_000)]))
    for (const [status, body, why] of [
      [400, undefined, /^A JSON body is required/],
      [400, [], /^Invalid input: expected object/],
      [400, {}, /^name: /],
      [400, { name: 'B'.repeat(22) }, /^name: must not look like an id/],
      [400, { name: 'a\u0007b' }, /^name: must have no control characters/],
      [400, { name: '.' }, /^name: is reserved/],
      [400, { name: 'guarded', variables: { C: '***' } }, /^variables\.C: "\*\*\*" keeps the value it has/],
      [400, { name: 'guarded', variables: { toString: '***' } }, /^variables\.toString: /],
      [400, { name: 'guarded', variables: { ...big, A: '***' } }, /^variables: are over 1 MiB together/],
      [400, { name: 'guarded', limits: { memory_mb: 1_048_576 } }, /^limits\.memory_mb: /],
      [400, { name: 'guarded', repositories: [{ url: 'ftp://x.test/a' }] }, /^repositories\.0\.url: /],
      [400, { name: 'guarded', docker_image: 'a//b' }, /^docker_image: /],
      [404, { name: 'guarded' }, /^There is no environment with this id/],
    ] as const) {
      const answer = await refused(
        admin.call('PUT', status === 404 ? `${PATH}/${'C'.repeat(22)}` : place(uid), body),
      )
      assert.equal(answer.status, status, JSON.stringify(body)?.slice(0, 100))
      assert.match(answer.detail ?? '', why)
    }
    const { config } = await read(uid)
    assert.deepEqual(config, { name: 'guarded', variables: { A: '***', B: '***' } })
    // A member may: they belong to the team.
    assert.equal((await other.json<Environment>('DELETE', place(uid))).uid, uid)
  })

  test('are named in runs and in their list, which keep the id', async () => {
    const { admin, other } = service()
    const { uid } = await make({ name: 'by name' })
    const run_id = await other.create({
      prompt: 'x',
      config: { environment_id: 'by name', worker_host: NOBODY },
    })
    assert.equal((await admin.get(run_id)).agent_config.environment_id, uid)
    const list = async (environment_id: string) => {
      const query = new URLSearchParams({ environment_id })
      const { runs } = await admin.json<ListRunsResponse>('GET', `/agent/runs?${query}`)
      return runs.map((run) => run.run_id)
    }
    assert.deepEqual([await list('by name'), await list(uid)], [[run_id], [run_id]])
    await put(uid, { name: 'by another name' })
    assert.deepEqual(await list('by another name'), [run_id])
    await remove(uid)
    assert.deepEqual(await list(uid), [run_id])
    assert.equal((await admin.get(run_id)).agent_config.environment_id, uid)
    const config = { environment_id: 'by another name', worker_host: NOBODY }
    assert.deepEqual(
      [
        await refused(admin.call('GET', '/agent/runs?environment_id=by+another+name')),
        await refused(admin.call('POST', '/agent/runs', { prompt: 'x', config })),
      ].map(({ status, detail }) => [status, detail]),
      [
        [400, 'environment_id: there is no environment with this name.'],
        [400, 'config.environment_id: there is no environment with this name.'],
      ],
    )
  })

  test('tell of their last run, and of no personal one of somebody else', async () => {
    const { admin, other } = service()
    const { uid, ...fresh } = await make({ name: 'told' })
    assert.equal(fresh.last_task_created, undefined)
    const seen = async (caller: typeof admin) => {
      const one = await caller.json<Environment>('GET', place('told'))
      const listed = ListEnvironmentsResponse.parse(await caller.json('GET', `${PATH}?sort_by=name`))
      assert.deepEqual(
        listed.environments.find((environment) => environment.uid === uid)?.last_task_created,
        one.last_task_created,
      )
      return one.last_task_created
    }
    const config = { environment_id: uid, worker_host: NOBODY }
    const own = await admin.create({ prompt: 'x', config, team: false })
    const { state, title, created_at, updated_at, started_at } = await admin.get(own)
    const expected = { id: own, state, title, created_at, updated_at, started_at }
    assert.deepEqual(await seen(admin), expected)
    assert.equal(await seen(other), undefined)
    const shared = await admin.create({ prompt: 'x', config })
    const hidden = await other.create({ prompt: 'x', config, team: false })
    assert.deepEqual([(await seen(admin))?.id, (await seen(other))?.id], [shared, hidden])
    await admin.json('POST', `/agent/runs/${shared}/cancel`, {})
    assert.equal((await seen(admin))?.state, 'CANCELLED')
    assert.equal((await put(uid, { name: 'told' })).last_task_created?.id, shared)
    assert.equal((await remove(uid)).last_task_created?.id, shared)
  })

  test('say who saved them last, and how long a failed session is kept', async () => {
    const { admin, other } = service()
    const made = await make({ name: 'edited', failure_session_retention_minutes: 30 })
    assert.deepEqual(made.last_editor, made.creator)
    assert.equal(made.last_task_run_timestamp, undefined)
    const changed = await other.json<Environment>('PUT', place('edited'), {
      ...{ name: 'edited', failure_session_retention_minutes: null },
    })
    assert.deepEqual(changed.creator, made.creator)
    assert.equal(
      changed.last_editor?.uid,
      (await other.get(await other.create({ prompt: 'x', config: { worker_host: NOBODY } }))).creator.uid,
    )
    assert.equal(changed.config.failure_session_retention_minutes, null)
    for (const providers of [
      { aws: { role_arn: 'arn:aws:iam::1:role/r' } },
      { gcp: { project_number: '1' } },
    ]) {
      const { status, error_code } = await refused(admin.call('POST', PATH, { name: 'cloud', providers }))
      assert.deepEqual([status, error_code], [403, 'feature_not_available'])
    }
    await remove('edited')
  })

  test('change for the attempts after: what has begun keeps what it began with', async () => {
    const { admin } = service()
    const config = (word: string) => ({
      name: 'changing',
      variables: { WORD: word },
      setup_commands: [`echo ${word} > word`],
    })
    const { uid } = await make(config('before'))
    const look = 'cat word; printf %s "$WORD" | rev; echo'
    const run_id = await admin.create({
      prompt: `${shell('until [ -e go ]; do sleep 0.05; done')}\n${shell(look)}`,
      config: { environment_id: uid },
    })
    await admin.until(run_id, (run) => run.state === 'INPROGRESS')
    await put(uid, config('after'))
    assert.equal(await printedBy(uid, look), 'after\nretfa\n')
    await admin.json('POST', `/agent/runs/${run_id}/followups`, {
      message: shell(look),
      on_busy: 'interrupt',
    })
    await admin.ended(run_id)
    assert.equal(printed(await admin.events(run_id)), 'before\nerofeb\n')
  })

  test('are deleted under runs: what waits fails and says why, what is there stays', async () => {
    const { admin } = service()
    const { uid } = await make({ name: 'deleted' })
    const done = await admin.create({ prompt: shell('echo done'), config: { environment_id: uid } })
    assert.equal((await admin.ended(done)).state, 'SUCCEEDED')
    const wishes = Array.from({ length: 12 }, (_, i) =>
      i === 4
        ? admin.call('DELETE', place(uid))
        : admin.call('POST', '/agent/runs', {
            prompt: shell('echo ran'),
            config: { environment_id: 'deleted' },
          }),
    )
    for (const answer of await Promise.all(wishes)) {
      const body = (await answer.json()) as { run_id?: string; uid?: string; detail?: string }
      if (body.uid) assert.equal(body.uid, uid)
      else if (body.run_id) {
        const run = await admin.ended(body.run_id)
        const ending = [run.state, run.status_message?.error_code, run.status_message?.message]
        if (run.state !== 'SUCCEEDED')
          assert.deepEqual(ending, [
            'FAILED',
            'resource_not_found',
            `The environment ${uid} does not exist any more.`,
          ])
      } else
        assert.deepEqual(
          [answer.status, body.detail],
          [400, 'config.environment_id: there is no environment with this name.'],
        )
    }
    assert.equal((await admin.get(done)).agent_config.environment_id, uid)
    assert.equal(printed(await admin.events(done)), 'done\n')
  })
})
