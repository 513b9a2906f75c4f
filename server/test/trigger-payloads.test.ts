/** What GitHub, GitLab, Slack and Linear post, of every kind: read, and through a trigger. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import type { HookAnswer, Trigger, TriggerVerification } from '../src/contract/trigger.ts'
import { describeSent, readPayload } from '../src/http/hook-payload.ts'
import { fillText } from '../src/intake/fill-text.ts'
import { pullRequestOf } from '../src/intake/pull-request-of.ts'
import { threadOf } from '../src/intake/thread-of.ts'
import { onFace } from './support/face.ts'
import { assertBrief } from './support/loop-guard.ts'
import { missingServers } from './support/mcp-servers.ts'
import { LONG } from './support/once.ts'
import { makeKeys } from './support/seed-keys.ts'
import { bodyOf, githubSamples, SAMPLES, type Sample } from './support/sender-payloads.ts'
import type { apiOf } from './support/service.ts'
import { SIGN } from './support/sign-hook.ts'

const EVENT_HEADER: Partial<Record<TriggerVerification, string>> = {
  ...{ github: 'x-github-event', gitlab: 'x-gitlab-event', linear: 'linear-event' },
}
const SENDERS = ['github', 'gitlab', 'slack', 'linear'] as const
type Sender = (typeof SENDERS)[number]

const samplesOf = (sender: Sender): readonly Sample[] =>
  sender !== 'github' ? (SAMPLES[sender] ?? []) : missingServers() ? [] : githubSamples()

function read(sender: Sender, sample: Sample) {
  const { body, content_type } = bodyOf(sample)
  const named = EVENT_HEADER[sender]
  const headers = { 'content-type': content_type, ...(named ? { [named]: sample.event } : {}) }
  const posted = { headers, body: Buffer.from(body) }
  return describeSent(sender, 'a secret of theirs', posted, readPayload(posted))
}

test('every example is read, its fields are there for prompts, and its event is known', () => {
  for (const sender of SENDERS)
    for (const sample of samplesOf(sender)) {
      const sent = read(sender, sample)
      assert.equal(sent.event, sample.event)
      assert.deepEqual(sent.payload, sample.payload)
      for (const [name, value] of Object.entries(sample.payload).slice(0, 5)) {
        if (/[\s{}.]/.test(name)) continue
        const told = typeof value === 'string' ? value : value === null ? '' : JSON.stringify(value)
        assert.equal(fillText(`{{payload.${name}}}`, sent, 1024 ** 2), told)
      }
      const { urls } = pullRequestOf(sender, sent.payload)
      assert(
        urls.every((url) => URL.canParse(url)),
        `${sender} ${sample.event}`,
      )
      const thread = threadOf(sent)
      if (thread) assert.match(thread.repository, /^[^/]+\/[^/]+$/)
    }
})

test('examples of pull requests and issues are known as what they are', { skip: missingServers() }, () => {
  const of = (event: string) =>
    githubSamples()
      .filter((sample) => sample.event === event)
      .map((sample) => read('github', sample))
  for (const sent of [...of('issues'), ...of('issue_comment')])
    assert(threadOf(sent), JSON.stringify(sent.payload).slice(0, 200))
  for (const sent of [
    ...of('pull_request'),
    ...of('pull_request_review'),
    ...of('pull_request_review_comment'),
  ]) {
    assert(threadOf(sent))
    assert.equal(pullRequestOf('github', sent.payload).urls.length, 1)
  }
})

test('deliveries of GitLab are told apart by their own key where there is one', () => {
  const [sample] = samplesOf('gitlab')
  assert(sample)
  const { body } = bodyOf(sample)
  const idOf = (headers: Record<string, string>) =>
    describeSent('gitlab', 'a secret', { headers, body: Buffer.from(body) }, sample.payload)
      .sender_delivery_id
  assert.equal(idOf({ 'x-gitlab-event-uuid': 'shared', 'idempotency-key': 'own' }), 'own')
  assert.equal(idOf({ 'x-gitlab-event-uuid': 'shared' }), 'shared')
  assert.match(idOf({}) ?? '', /^sha256:/)
})

test('a form of a million fields is refused before it is parsed; one with JSON in a field, and JSON called a form, are read', () => {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const readForm = (body: string) => readPayload({ headers, body: Buffer.from(body) })
  const many = 'a&'.repeat(1024 ** 2)
  assertBrief(() =>
    assert.throws(() => readForm(many), { status: 413, detail: 'The form has more than 500 fields.' }),
  )
  assert.deepEqual(readForm(`payload=${encodeURIComponent('{"a":[1]}')}&b=2`), { a: [1] })
  assert.deepEqual(readForm(`{"a":"${'&'.repeat(600)}"}`), { a: '&'.repeat(600) })
})

onFace('triggers of every sender', (face) => {
  let owner: ReturnType<typeof apiOf>
  before(async () => {
    owner = face().as((await makeKeys(face().store.db, { owner: { role: 'member' } })).owner)
  })

  /** Linear says in the body when it sent it, and what is a minute old is refused. */
  const sentNow = (sample: Sample): Sample =>
    'webhookTimestamp' in sample.payload
      ? { ...sample, payload: { ...sample.payload, webhookTimestamp: Date.now() } }
      : sample
  const create = (sender: Sender, filter?: string) =>
    owner.json<Trigger & { secret: string }>('POST', '/agent/triggers', {
      ...{ name: sender, verification: sender, prompt: 'Look.', agent_config: { worker_host: 'nobody' } },
      ...(filter ? { filter } : {}),
    })
  async function post(trigger: Trigger & { secret: string }, sender: Sender, sample: Sample) {
    const { body, content_type } = bodyOf(sentNow(sample))
    const named = EVENT_HEADER[sender]
    const response = await face().fetch(trigger.url, {
      method: 'POST',
      headers: {
        ...{ 'content-type': content_type },
        ...SIGN[sender]({ secret: trigger.secret, body, id: randomUUID() }),
        ...(named ? { [named]: sample.event } : {}),
      },
      body,
    })
    assert.equal(response.status, 202, `${sender} ${sample.event}: ${await response.clone().text()}`)
    return (await response.json()) as HookAnswer
  }

  for (const sender of SENDERS)
    test(`${sender}: each kind starts a run, and its fields decide`, { timeout: 600_000 }, async () => {
      const all = samplesOf(sender)
      const each = all.filter(({ event }, at) => all.findIndex((other) => other.event === event) === at)
      // Each filter takes a process, so most are asked in the long tests.
      const asked = LONG ? each : each.slice(0, 3)
      const open = await create(sender)
      for (const sample of each) {
        const { outcome, reason } = await post(open, sender, sample)
        if (sample.event === 'ping') assert.equal(reason, 'GitHub asked whether anybody is here.')
        else assert.equal(outcome, 'run_started', `${sample.event}: ${reason}`)
      }
      for (const sample of asked) {
        if (sample.event === 'ping') continue
        const [[name = ''] = []] = Object.entries(sample.payload)
        const filtered = await create(sender, `has(payload.${name}) && !has(payload.not_there)`)
        assert.equal((await post(filtered, sender, sample)).outcome, 'run_started', sample.event)
      }
    })

  test('Slack may ask whether anybody is there, and post a command with its text', async () => {
    const trigger = await create('slack')
    const check: Sample = { event: '', form: 'fields', payload: { ssl_check: '1', token: 'x' } }
    assert.deepEqual((await post(trigger, 'slack', check)).reason, 'Slack asked whether anybody is here.')
    const command = SAMPLES.slack?.find(({ event }) => event === '/fix')
    assert(command)
    const picky = await create('slack', 'payload.command == "/fix" && payload.text.startsWith("the größe &")')
    assert.equal((await post(picky, 'slack', command)).outcome, 'run_started')
  })
})
