/** Answers on GitHub of two processes, which are killed or stand still in the middle: how many stand in the thread. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { sql } from 'kysely'
import type { HookAnswer, Trigger } from '../src/contract/trigger.ts'
import { markTold, takeReplies } from '../src/store/trigger-replies.ts'
import { type Cluster, type ServeRole, startCluster, until } from './support/cluster.ts'
import { createDatabase, stopTestServer } from './support/databases.ts'
import { type GitHost, serveGitHost } from './support/git-hosts.ts'
import { commentUnheard } from './support/git-hosts-comments.ts'
import { type Answer, addHostedRepository, type GitHostRequest } from './support/hosted-repositories.ts'
import { findPostgres } from './support/postgres-server.ts'
import { temporaryDirectory } from './support/service.ts'
import { SIGN } from './support/sign-hook.ts'
import { cancel } from './support/stored.ts'

const TOKEN = 'canary-reply-token'
const LIMIT = { timeout: 180_000 }
const DELIVERIES = 20

interface Reply {
  status: string
  attempts: number
  error: string | null
}

const skip = findPostgres() || process.env.RUNYARD_TEST_POSTGRES ? false : 'PostgreSQL is not installed'
describe('answers on GitHub of two processes on PostgreSQL', { skip }, () => {
  const root = temporaryDirectory('hosted')
  let database: Awaited<ReturnType<typeof createDatabase>>
  let host: GitHost
  let cluster: Cluster
  let trigger: Trigger & { secret: string }
  /** The one that is left when others were killed. */
  let running: ServeRole | undefined
  let interfere: ((request: GitHostRequest) => Answer | Error | 'silence' | undefined) | undefined

  before(async () => {
    addHostedRepository(root, 'acme/site')
    host = await serveGitHost({
      ...{ root, kind: 'github', token: TOKEN },
      interfere: (request) => (request.path.startsWith('/api/') ? interfere?.(request) : undefined),
    })
    database = await createDatabase()
    cluster = await startCluster(database.url, {
      NODE_EXTRA_CA_CERTS: host.ca_file,
      RUNYARD_PRIVATE_HOSTS: host.host,
      RUNYARD_GIT_HOSTS: `${host.host}=github`,
    })
    await cluster.api.json('PUT', '/agent/secrets/GITHUB', { value: TOKEN, git: { host: host.host } })
    trigger = await cluster.api.json('POST', '/agent/triggers', {
      ...{ name: 'T', verification: 'github', prompt: 'x', reply: { secret: 'GITHUB' } },
      agent_config: { worker_host: 'nobody' },
    })
  }, LIMIT)
  after(async () => {
    await cluster?.stop()
    host?.close()
    await database?.drop()
    await stopTestServer()
  }, LIMIT)

  async function post(
    { base_url }: Pick<ServeRole, 'base_url'>,
    number: number,
    more: object = {},
  ): Promise<HookAnswer> {
    const repository = { full_name: 'acme/site', html_url: `${host.url}/acme/site` }
    const body = JSON.stringify({ action: 'opened', issue: { number }, repository, ...more })
    const headers = SIGN.github({ secret: trigger.secret, body, id: `issue ${number}` })
    const url = new URL(`/hooks/${trigger.trigger_id}`, base_url)
    return (await (await fetch(url, { method: 'POST', body, headers })).json()) as HookAnswer
  }
  const bodiesOn = (number: number): string[] =>
    host.comments.filter((comment) => comment.number === number).map(({ body }) => body)
  const ended = (count: number) => () => bodiesOn(count).some((body) => /was \[stopped\]/.test(body))
  const rowOf = async ({ delivery_id }: HookAnswer): Promise<Reply> => {
    const { rows } = await sql<Reply>`
      select status, attempts, error from trigger_replies where delivery_id = ${delivery_id}::uuid`.execute(
      cluster.store.db,
    )
    assert(rows[0])
    return rows[0]
  }
  /** As if the minute and a half were over in which nobody else does what a process has taken. */
  const letGo = ({ delivery_id }: HookAnswer) =>
    sql`update trigger_replies set next_attempt_at = clock_timestamp() where delivery_id = ${delivery_id}::uuid`.execute(
      cluster.store.db,
    )
  const onceTo = (method: string, does: (request: GitHostRequest) => void): Promise<void> =>
    new Promise((resolve) => {
      interfere = (request) => {
        if (request.method !== method) return undefined
        interfere = undefined
        does(request)
        resolve()
        return 'silence'
      }
    })

  test('two processes at once say each thing once', LIMIT, async () => {
    const second = await cluster.serve()
    const numbers = Array.from({ length: DELIVERIES }, (_, index) => 100 + index)
    const answers = await Promise.all(
      numbers.map((number) => post(number % 2 === 0 ? cluster : second, number)),
    )
    const writes = () => host.requests.filter(({ method }) => method === 'POST' || method === 'PATCH').length
    const before = writes()
    await until('all to have begun', () => numbers.every((number) => bodiesOn(number).length > 0))
    for (const { run_id } of answers) await cluster.api.json('POST', `/agent/runs/${run_id}/cancel`)
    await until('all to have ended', () => numbers.every((number) => ended(number)()))
    assert.deepEqual(
      numbers.map((number) => bodiesOn(number).length),
      numbers.map(() => 1),
    )
    assert(writes() - before <= 2 * DELIVERIES, 'and no process says it again')
    await second.end('SIGTERM')
  })

  test('of those who look at once each takes others', LIMIT, async () => {
    // So that the processes leave them alone.
    cluster.first.signal('SIGSTOP')
    const { db } = cluster.store
    const { rows } = await sql<{ delivery_id: string }>`
      update trigger_replies set status = 'pending', next_attempt_at = clock_timestamp()
      where delivery_id in (select delivery_id from trigger_replies order by delivery_id limit ${DELIVERIES}::int)
      returning delivery_id`.execute(db)
    const taken = (
      await Promise.all([1, 2, 3, 4, 5, 6].map(async () => (await takeReplies(db, DELIVERIES)) ?? []))
    ).flat()
    const ids = taken.map(({ delivery_id }) => delivery_id)
    assert.deepEqual(ids.toSorted(), rows.map(({ delivery_id }) => delivery_id).toSorted())
    // Somebody else has taken it since: what one of the first says of it counts no more.
    const [first] = taken
    assert(first)
    await letGo({ delivery_id: first.delivery_id, outcome: 'run_started' })
    await until('it to be taken again', async () => ((await takeReplies(db, 1)) ?? []).length > 0)
    await markTold(db, first, { told: 'too late' })
    const { rows: told } = await sql<{ told: string }>`
      select told from trigger_replies where delivery_id = ${first.delivery_id}::uuid`.execute(db)
    assert.notEqual(told[0]?.told, 'too late')
    await sql`update trigger_replies set status = 'posted', next_attempt_at = null where delivery_id = any(${ids}::uuid[])`.execute(
      db,
    )
    cluster.first.signal('SIGCONT')
  })

  test('of a follow-up it tells how that turn ended, and not the one before', LIMIT, async () => {
    const { api } = cluster
    const run_id = await api.create({ prompt: 'x', config: { worker_host: 'nobody' } })
    const html_url = `${host.url}/acme/site/pull/7`
    await sql`
      insert into pushes (artifact_uid, run_id, directory, repository, branch, commit, url, pull_request)
      values (${randomUUID()}::uuid, ${run_id}::uuid, 'site', 'acme/site', 'b', 'c', ${html_url}, 7)`.execute(
      cluster.store.db,
    )
    await api.json('POST', `/agent/runs/${run_id}/cancel`)
    const answer = await post(cluster, 7, { issue: { number: 7, pull_request: { html_url } } })
    assert.deepEqual([answer.outcome, answer.run_id], ['followup_sent', run_id])
    await until('a comment to be there', () => bodiesOn(7).length > 0)
    assert.match(bodiesOn(7)[0] ?? '', /is working on it/)
    assert.equal((await rowOf(answer)).status, 'pending')
    await api.json('POST', `/agent/runs/${run_id}/cancel`)
    await until('the end to be told', ended(7))
    await until('it to be noted', async () => (await rowOf(answer)).status === 'posted')
  })

  test('for who was disabled meanwhile nothing is said any more', LIMIT, async () => {
    const { db } = cluster.store
    const answer = await post(cluster, 8)
    await until('a comment to be there', () => bodiesOn(8).length > 0)
    const editor = trigger.updated_by.uid
    const disable = (disabled: boolean) =>
      sql`update principals set disabled = ${disabled} where principal_id = ${editor}::uuid`.execute(db)
    await disable(true)
    await cancel(db, answer.run_id ?? '', editor)
    await until('it to be given up', async () => (await rowOf(answer)).status === 'failed')
    await disable(false)
    assert.equal((await rowOf(answer)).error, 'Whoever saved the trigger last is disabled.')
    assert.match(bodiesOn(8)[0] ?? '', /is working on it/)
  })

  test('who is killed before it could note its comment leaves one that is found', LIMIT, async () => {
    const { first } = cluster
    const posted = onceTo('POST', (request) =>
      commentUnheard({ comments: host.comments, now: Date.now }, request),
    )
    const answer = await post(first, 1)
    await posted
    await first.end('SIGKILL')
    const { status, attempts } = await rowOf(answer)
    assert.deepEqual([status, attempts], ['pending', 1])
    await letGo(answer)
    const next = await cluster.serve()
    await until('it to be told anew', async () => (await rowOf(answer)).attempts > 1)
    await next.api.json('POST', `/agent/runs/${answer.run_id}/cancel`)
    await until('the end to be told', ended(1))
    assert.equal(bodiesOn(1).length, 1)

    // What was not said when it was killed is said.
    const unsaid = onceTo('POST', () => {})
    const third = await post(next, 3)
    await unsaid
    await next.end('SIGKILL')
    assert.deepEqual(bodiesOn(3), [])
    await letGo(third)
    const last = await cluster.serve()
    await until('it to be said', () => bodiesOn(3).length === 1)
    running = last

    // And the end as well: it is written twice into one comment.
    const other = await post(last, 2)
    await until('a comment to be there', () => bodiesOn(2).length > 0)
    const edited = onceTo('PATCH', () => {})
    await last.api.json('POST', `/agent/runs/${other.run_id}/cancel`)
    await edited
    await last.end('SIGKILL')
    await letGo(other)
    running = await cluster.serve()
    await until('the end to be told', ended(2))
    await until('it to be noted', async () => (await rowOf(other)).status === 'posted')
    assert.equal(bodiesOn(2).length, 1)
  })

  test('who stood still while another said it says no more of it', LIMIT, async () => {
    const slow = running ?? (await cluster.serve())
    const posted = onceTo('POST', (request) =>
      commentUnheard({ comments: host.comments, now: Date.now }, request),
    )
    const answer = await post(slow, 4)
    await posted
    slow.signal('SIGSTOP')
    await letGo(answer)
    const other = await cluster.serve()
    await other.api.json('POST', `/agent/runs/${answer.run_id}/cancel`)
    await until('the end to be told', ended(4))
    await until('it to be noted', async () => (await rowOf(answer)).status === 'posted')
    slow.signal('SIGCONT')
    // Its request is broken off now, which is no failure of the answer's.
    host.breakOff()
    await until('it to be alive', async () => (await slow.api.call('GET', '/agent/runs')).ok)
    await slow.end('SIGTERM')
    assert.equal(bodiesOn(4).length, 1)
    assert.match(bodiesOn(4)[0] ?? '', /was \[stopped\]/)
    assert.equal((await rowOf(answer)).status, 'posted')
  })
})
