/** A worker that only dials out, as a process of its own: it executes runs with a pool key and nothing else. */
import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { sql } from 'kysely'
import { createPrincipalWithKey } from '../src/store/api-keys.ts'
import { type Cluster, startCluster, until, type WorkerRole } from './support/cluster.ts'
import { createDatabase, stopTestServer } from './support/databases.ts'
import { startFaultyProxy } from './support/faulty-proxy.ts'
import { findPostgres } from './support/postgres-server.ts'
import { shell, temporaryDirectory } from './support/service.ts'
import { findProcesses, modifiedInWorkspace, ofType, printed } from './support/traces.ts'

const skip = findPostgres() || process.env.RUNYARD_TEST_POSTGRES ? false : 'PostgreSQL is not installed'
const MASTER = 'canary-master-key-of-more-than-32-characters'
const OTHERS = 'canary-secret-of-another-run'
const OWN = 'canary-secret-of-this-run'

describe('a worker over HTTPS', { skip }, () => {
  let database: Awaited<ReturnType<typeof createDatabase>>
  let cluster: Cluster
  let worker: WorkerRole
  let data_dir = ''

  before(async () => {
    database = await createDatabase()
    cluster = await startCluster(database.url, { RUNYARD_SECRET_KEY: MASTER }, { over_https: true })
    for (const [name, value] of [
      ['OWN', OWN],
      ['OTHERS', OTHERS],
    ])
      await cluster.api.json('PUT', `/agent/secrets/${name}`, { value })
    worker = await startAnother()
  })
  after(async () => {
    await cluster?.stop()
    await database?.drop()
    await stopTestServer()
  })

  /** On another machine, as far as it can know. */
  const startAnother = (): Promise<WorkerRole> => {
    data_dir = temporaryDirectory('remote')
    return cluster.worker('far', { RUNYARD_DATA_DIR: data_dir, RUNYARD_SECRET_KEY: '' })
  }
  const environmentWith = async (config: object) =>
    (await cluster.api.json<{ uid: string }>('POST', '/agent/environments', { name: 'env', ...config })).uid
  const create = (prompt: string, config: object = {}) =>
    cluster.api.create({ prompt, config: { worker_host: 'far', ...config } })

  test('executes a run with variables and a secret, keeps its files, and goes on after a follow-up', async () => {
    const environment_id = await environmentWith({ secrets: ['OWN'], variables: { PLAIN: 'a variable' } })
    const steps = [
      'printf "%s" "$PLAIN" | wc -c; printf "%s" "$OWN" | wc -c',
      'mkdir -p artifacts; echo kept > artifacts/report.txt; echo here > file',
    ]
    const run_id = await create(steps.map(shell).join('\n'), { environment_id })
    const run = await cluster.api.ended(run_id)
    assert.equal(run.state, 'SUCCEEDED', JSON.stringify(run.status_message))
    assert.equal(printed(await cluster.api.events(run_id)), `10\n${OWN.length}\n`)
    const [artifact] = run.artifacts
    assert(artifact && 'artifact_uid' in artifact.data)
    const link = await cluster.api.call('GET', `/agent/artifacts/${artifact.data.artifact_uid}/download`)
    const file = await fetch(link.headers.get('location') ?? '')
    assert.equal(await file.text(), 'kept\n')
    await cluster.api.json('POST', `/agent/runs/${run_id}/followups`, {
      message: shell('cat /workspace/file'),
    })
    await until('the follow-up', async () => /here/.test(printed(await cluster.api.events(run_id))))
    assert.equal((await cluster.api.ended(run_id)).state, 'SUCCEEDED')

    // Another machine finds the workspace as it was kept.
    await worker.end('SIGTERM')
    worker = await startAnother()
    await cluster.api.json('POST', `/agent/runs/${run_id}/followups`, {
      message: shell('cat /workspace/file'),
    })
    await until('the second follow-up', async () =>
      /here\nhere/.test(printed(await cluster.api.events(run_id))),
    )
  })

  test('stops a run that is cancelled', async () => {
    const marker = `7${Date.now()}`
    const run_id = await create(shell(`sleep ${marker}`))
    await until('the step', () => findProcesses(marker).length > 0)
    await cluster.api.json('POST', `/agent/runs/${run_id}/cancel`)
    await until('the sandbox to die', () => findProcesses(marker).length === 0)
    assert.equal((await cluster.api.get(run_id)).state, 'CANCELLED')
  })

  test('loses nothing and doubles nothing when its connections are cut again and again', async () => {
    const proxy = await startFaultyProxy(Number(new URL(cluster.base_url).port))
    const own = await cluster.worker('cut', {
      RUNYARD_SERVER: `http://127.0.0.1:${proxy.port}`,
      RUNYARD_DATA_DIR: temporaryDirectory('cut'),
    })
    try {
      const steps = Array.from({ length: 12 }, (_, n) => shell(`echo ${n}; sleep 0.4`))
      const run_id = await cluster.api.create({ prompt: steps.join('\n'), config: { worker_host: 'cut' } })
      await until('the first steps', async () => /2\n/.test(printed(await cluster.api.events(run_id))))
      for (const _ of [1, 2, 3]) {
        await proxy.goAway()
        await proxy.comeBack()
      }
      const run = await cluster.api.ended(run_id)
      assert.deepEqual([run.state, run.attempt], ['SUCCEEDED', 1])
      const events = await cluster.api.events(run_id)
      assert.equal(printed(events), Array.from({ length: 12 }, (_, n) => `${n}\n`).join(''))
      assert.deepEqual(
        events.map(({ sequence }) => sequence),
        events.map((_, at) => at + 1),
      )
    } finally {
      await own.end('SIGTERM')
      await proxy.close()
    }
  })

  test('keeps every artifact and the workspace of a turn that ends while its connections are cut', async () => {
    const proxy = await startFaultyProxy(Number(new URL(cluster.base_url).port))
    const pool = 'cut-files'
    const own = await cluster.worker(pool, {
      RUNYARD_SERVER: `http://127.0.0.1:${proxy.port}`,
      RUNYARD_DATA_DIR: temporaryDirectory(pool),
    })
    try {
      // Not to be compressed, and more than what is on its way at once.
      const step = shell(
        'mkdir -p artifacts; for n in 1 2 3 4 5 6; do head -c 3000000 /dev/urandom > artifacts/$n; done; echo made',
      )
      const run_id = await cluster.api.create({ prompt: step, config: { worker_host: pool } })
      let files = 0
      proxy.onRequest((head) => {
        if (!/^PUT \S+\/artifacts\//m.test(head)) return
        files += 1
        // In the midst of the second file, and of one that is sent anew.
        if (files !== 2 && files !== 4) return
        proxy.goAway().then(() => setTimeout(() => proxy.comeBack(), 1_000))
      })
      const run = await cluster.api.ended(run_id)
      assert(files > 6, String(files))
      assert.deepEqual([run.state, run.attempt], ['SUCCEEDED', 1])
      assert.equal(run.artifacts.length, 6, own.log())
      assert.deepEqual(ofType(await cluster.api.events(run_id), 'error'), [])
    } finally {
      await own.end('SIGTERM')
      await proxy.close()
    }
  })

  test('has stopped its sandboxes before a run goes to another worker, when nothing passes any more', async () => {
    const proxy = await startFaultyProxy(Number(new URL(cluster.base_url).port))
    const pool = 'parted'
    const folder = temporaryDirectory('parted')
    const first = await cluster.worker(pool, {
      RUNYARD_SERVER: `http://127.0.0.1:${proxy.port}`,
      RUNYARD_DATA_DIR: folder,
    })
    try {
      const run_id = await cluster.api.create({
        prompt: shell('while :; do printf . | tee -a ticks; sleep 0.1; done'),
        config: { worker_host: pool },
      })
      await until('the step', async () => printed(await cluster.api.events(run_id)) !== '')
      await proxy.goAway()
      const lost = await until(
        'the loss',
        async () => ofType(await cluster.api.events(run_id), 'attempt.lost')[0],
      )
      await cluster.api.json('POST', `/agent/runs/${run_id}/cancel`)
      await proxy.comeBack()
      await until('its next life', () => /lost its leases and starts anew[\s\S]*is at work/.test(first.log()))
      assert(modifiedInWorkspace(folder, run_id, 'ticks') < Date.parse(lost.occurred_at))
    } finally {
      await first.end('SIGTERM')
      await proxy.close()
    }
  })

  test('holds no master key, no address of the database, and no secret of another run', () => {
    const hidden = [MASTER, OTHERS, database.url, new URL(database.url).pathname.slice(1)]
    const environment = readFileSync(`/proc/${worker.pid}/environ`, 'utf8')
    const files = listFiles(data_dir).map((path) => readFileSync(path, 'latin1'))
    for (const text of [environment, worker.log(), ...files])
      for (const word of [...hidden, OWN]) assert(!text.includes(word), word)
    assert.deepEqual(
      readdirSync(data_dir).filter((name) => ['secret-key', 'db', 'blobs'].includes(name)),
      [],
    )
  })

  test('gets from the server what it holds and nothing else', async () => {
    const key = await createPrincipalWithKey(cluster.store.db, { name: 'fleet', role: 'viewer', pool: 'far' })
    const server = new URL(cluster.base_url).origin
    const ask = async (path: string, token: string, body: unknown = {}, method = 'POST') => {
      const answer = await fetch(`${server}/api/workers/v1/${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(method === 'POST' ? { body: JSON.stringify(body) } : {}),
      })
      return { status: answer.status, text: await answer.text() }
    }
    const refused = await ask('welcome', cluster.api_key, { version: '0.1.0' })
    assert.equal(refused.status, 403)
    assert.match(refused.text, /This takes a pool key/)
    assert.match((await ask('welcome', key.api_key, { version: '9.0.0' })).text, /Install runyard@/)
    assert.equal((await ask('claim', key.api_key, { n: 1 })).status, 401)
    const token = `ryw_${'a'.repeat(43)}`
    const enrolment = {
      token,
      worker: {
        ...{
          worker_id: '01a20b4c-d2f6-4441-a9b5-4278f2693852',
          host: 'evil',
          version: '0.1.0',
          place: 'x',
          slots: 1,
        },
        ...{ sandbox: 'host', models: { models: [] }, lacking_agents: [] },
      },
    }
    for (const _ of ['once', 'again']) assert.equal((await ask('enrol', key.api_key, enrolment)).status, 200)
    const other = { ...enrolment, token: `ryw_${'b'.repeat(43)}` }
    assert.equal((await ask('enrol', key.api_key, other)).status, 409)

    const model = { model_id: 'evil/one', provider: 'evil', html: 'x'.repeat(1_000) }
    const tell = (models: unknown) => ask('models', token, { models: { models } })
    assert.equal((await tell([model])).status, 200)
    assert.doesNotMatch(JSON.stringify(await cluster.api.json('GET', '/agent/models')), /x{1000}/)
    for (const refused of [
      [{ ...model, provider: 7 }],
      Array.from({ length: 1_001 }, () => model),
      Array.from({ length: 400 }, () => ({ ...model, display_name: 'x'.repeat(1_000) })),
    ])
      assert.equal((await tell(refused)).status, 400)
    const enrolAs = (n: number) =>
      ask('enrol', key.api_key, {
        token: `ryw_${String(n).padStart(43, 'd')}`,
        worker: { ...enrolment.worker, worker_id: `01a20b4c-d2f6-4441-a9b5-${String(n).padStart(12, '0')}` },
      })
    assert.equal((await enrolAs(199)).status, 200)
    await sql`
      insert into workers (worker_id, pool, host, version, place, slots, sandbox, models, lacking_agents, key_id, token_hash)
      select gen_random_uuid(), pool, host, version, place, slots, sandbox, models, lacking_agents, key_id, uuid_send(gen_random_uuid())
      from workers, generate_series(1, 250) where worker_id = ${enrolment.worker.worker_id}`.execute(
      cluster.store.db,
    )
    const full = await enrolAs(200)
    assert.equal(full.status, 429)
    assert.match(full.text, /At most 200 workers/)
    assert.equal((await enrolAs(199)).status, 200)

    const run_id = await cluster.api.create({ prompt: shell('true'), config: { worker_host: 'nobody' } })
    const of = `runs/${run_id}/1`
    assert.equal((await ask('claim', token, { n: 5 })).text, '{"value":[]}')
    for (const verb of ['readRun', 'readHistory', 'openValues', 'readSandbox', 'findSnapshot'])
      assert.equal((await ask(`${of}/${verb}`, token, { args: [] })).text, '{"lost":true}', verb)
    assert.equal((await ask(`${of}/useSecrets`, token, { args: [['OTHERS']] })).text, '{"lost":true}')
    assert.equal(
      (
        await ask(`${of}/appendEvents`, token, {
          args: [1, [{ type: 'message.assistant', data: { message_id: 'm', text: 'x' } }]],
        })
      ).text,
      '{"value":"lost"}',
    )
    assert.equal((await ask(`${of}/toString`, token, { args: [] })).status, 404)
    assert.equal((await ask(`${of}/appendEvents`, token, { args: [1, [{ type: 'none' }]] })).status, 400)
    assert.equal((await ask(`${of}/requeue`, token, { args: 'x' })).status, 400)
    for (const method of ['GET', 'DELETE'])
      assert.equal((await ask(`files/runs/${run_id}/artifacts/x`, token, {}, method)).status, 403)
    assert.equal((await ask('beat', `ryw_${'c'.repeat(43)}`)).status, 401)
    assert.equal((await ask('beat', token)).text, '{"value":true}')
  })

  test('a run gets no sandbox and no file of another, and no secret once it is cancelled', async () => {
    const pool = 'taken'
    const evil = await enrol(pool, 'here')
    const other = await enrol(pool, 'there')
    const environment_id = await environmentWith({ name: 'taken', secrets: ['OWN'] })
    const claim = async (who: typeof evil, config: object = {}) => {
      const run_id = await create(shell('true'), { worker_host: pool, ...config })
      const claimed = JSON.parse((await who.ask('claim', { n: 1 })).text)
      assert.equal(claimed.value[0].run_id, run_id)
      return run_id
    }
    const theirs = await claim(other)
    const own = await claim(evil, { environment_id })
    const sandbox = (id: string, run_id: string, place: string) => ({
      ...{ place, prepared: true, commits: {}, ref: { backend: 'host', id, run_id, attempt: 1 } },
    })
    const record = (who: typeof evil, run_id: string, ...of: Parameters<typeof sandbox>) =>
      who.ask(`runs/${run_id}/1/recordSandbox`, { args: [sandbox(...of)] })
    assert.equal((await record(other, theirs, `${theirs}-1`, theirs, 'there')).text, '{"value":true}')
    const warm = (worker_id: string) => `${worker_id}.warm-01a20b4c-d2f6-4441-a9b5-4278f2693852`
    for (const name of [theirs, warm(other.worker_id), '../x'])
      assert.equal((await record(evil, own, 'x', name, 'there')).status, 400, name)
    for (const id of ['../x', 'a..b', '-f', 'a/b', ''])
      assert.equal((await record(evil, own, id, own, 'here')).status, 400, id)
    // Whatever it says of the place.
    for (const name of [warm(evil.worker_id), own])
      assert.equal((await record(evil, own, 'mine', name, 'there')).text, '{"value":true}', name)
    const { value } = JSON.parse((await evil.ask(`runs/${own}/1/readSandbox`, { args: [] })).text)
    assert.deepEqual([value.place, value.ref.run_id], ['here', own])
    assert.equal((await evil.ask('expired-sandboxes', { place: 'there', keep: 0 })).text, '{"value":[]}')
    const elsewhere = await enrol('elsewhere', 'there')
    const owners = await elsewhere.ask('sandbox-owners', { names: [theirs] })
    assert(!owners.text.includes('there'), owners.text)
    assert((await other.ask('sandbox-owners', { names: [theirs] })).text.includes('there'))

    const artifact = (blob_key: string, size_bytes = 1) => ({
      ...{
        artifact_uid: randomUUID(),
        artifact_type: 'FILE',
        filename: 'a',
        filepath: 'a',
        mime_type: 'a/b',
      },
      ...{ size_bytes, sha256: 'a'.repeat(64), blob_key },
    })
    const insert = async (...of: Parameters<typeof artifact>) =>
      (await evil.ask(`runs/${own}/1/insertArtifact`, { args: [artifact(...of)] })).status
    for (const key of ['snapshots/a', 'artifacts/../../x', 'artifacts/', 'artifacts/a b'])
      assert.equal(await insert(`runs/${own}/${key}`), 400, key)
    assert.equal(await insert(`runs/${own}/artifacts/a`, 2 ** 40), 400)

    const given = ['findEnvironment', 'openValues', 'useSecrets']
    const use = async (verb: string) =>
      (await evil.ask(`runs/${own}/1/${verb}`, { args: verb === 'useSecrets' ? [['OWN']] : [] })).text
    for (const verb of given) assert.notEqual(await use(verb), '{"lost":true}', verb)
    await cluster.api.json('POST', `/agent/runs/${own}/cancel`)
    for (const verb of given) assert.equal(await use(verb), '{"lost":true}', verb)
  })

  test('a file that is sent as something else is refused at once, and old questions give way', async () => {
    const { token, ask } = await enrol('asking', 'x')
    const run_id = await create(shell('true'), { worker_host: 'asking' })
    await ask('claim', { n: 1 })
    const put = (type: string, body: string) =>
      fetch(`${new URL(cluster.base_url).origin}/api/workers/v1/files/runs/${run_id}/artifacts/a`, {
        ...{ method: 'PUT', body, signal: AbortSignal.timeout(5_000) },
        headers: { authorization: `Bearer ${token}`, 'content-type': type },
      })
    for (const type of ['application/json', 'text/plain']) assert.equal((await put(type, '{}')).status, 415)
    assert.deepEqual(await (await put('application/octet-stream', '{}')).json(), { bytes: 2 })
    const began = performance.now()
    const question = { runs: false, orders: [run_id] }
    const asked = Array.from({ length: 5 }, () => ask('wait', question))
    assert.equal((await Promise.race(asked)).text, '{"value":{"runs":false,"refreshes":false,"orders":[]}}')
    assert(performance.now() - began < 10_000)
    await cluster.api.json('POST', `/agent/runs/${run_id}/cancel`)
    const heard = (await Promise.all(asked)).filter(({ text }) => text.includes(run_id))
    assert.equal(heard.length, 4)
    const many = { runs: false, orders: Array.from({ length: 1_001 }, () => run_id) }
    assert.equal((await ask('wait', many)).status, 400)
  })

  /** A worker as its server sees it. */
  const enrol = async (pool: string, place: string) => {
    const key = await createPrincipalWithKey(cluster.store.db, { name: 'fleet', role: 'viewer', pool })
    const token = `ryw_${randomBytes(32).toString('base64url')}`
    const worker_id = randomUUID()
    const send = async (path: string, bearer: string, body: object) => {
      const answer = await fetch(`${new URL(cluster.base_url).origin}/api/workers/v1/${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
      return { status: answer.status, text: await answer.text() }
    }
    const worker = {
      ...{ worker_id, host: 'a', version: '0.1.0', place, slots: 1, sandbox: 'host' },
      ...{ models: { models: [] }, lacking_agents: [] },
    }
    const enrolled = await send('enrol', key.api_key, { token, worker })
    assert.equal(enrolled.status, 200, enrolled.text)
    return { worker_id, token, ask: (path: string, body: object = {}) => send(path, token, body) }
  }
})

const listFiles = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => {
      try {
        return statSync(path).isFile()
      } catch {
        return false
      }
    })
