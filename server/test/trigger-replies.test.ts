/** Triggers that answer on GitHub, on a stand-in for it: what stands in the thread, whatever fails meanwhile. */
import assert from 'node:assert/strict'
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import type { AuditEntry } from '../src/contract/audit-log.ts'
import type {
  HookAnswer,
  ListTriggerDeliveriesResponse,
  Trigger,
  TriggerDelivery,
} from '../src/contract/trigger.ts'
import { until } from './support/cluster.ts'
import { type GitHost, serveGitHost } from './support/git-hosts.ts'
import { addComment, commentUnheard } from './support/git-hosts-comments.ts'
import {
  type Answer,
  addHostedRepository,
  type GitHostRequest,
  type HostedComment,
} from './support/hosted-repositories.ts'
import { type ModelServer, openModelServer } from './support/model-server.ts'
import { answerCalls } from './support/scripted-calls.ts'
import { apiOf, shell, startService, type TestService, temporaryDirectory } from './support/service.ts'
import { SIGN } from './support/sign-hook.ts'

const TOKEN = 'canary-reply-token'
const LIMIT = { timeout: 120_000 }

describe('triggers that answer on GitHub', () => {
  const root = temporaryDirectory('hosted')
  const app = generateKeyPairSync('rsa', { modulusLength: 2048 })
  let host: GitHost
  let model: ModelServer
  let service: TestService
  let api: ReturnType<typeof apiOf>
  let behind_ms = 0
  const now = () => Date.now() - behind_ms
  let interfere: ((request: GitHostRequest) => Answer | Error | 'silence' | undefined) | undefined
  before(async () => {
    addHostedRepository(root, 'acme/site')
    host = await serveGitHost({
      ...{ root, kind: 'github', token: TOKEN },
      app: {
        ...{ app_id: '7', installation_id: '8', account: 'acme' },
        public_key: app.publicKey.export({ type: 'spki', format: 'pem' }).toString(),
      },
      now,
      interfere: (request) => (request.path.startsWith('/api/') ? interfere?.(request) : undefined),
    })
    model = await openModelServer(answerCalls)
    service = await startService({
      env: {
        OPENAI_BASE_URL: model.url,
        OPENAI_API_KEY: 'a-key',
        NODE_EXTRA_CA_CERTS: host.ca_file,
        RUNYARD_PRIVATE_HOSTS: host.host,
        RUNYARD_GIT_HOSTS: `${host.host}=github`,
      },
    })
    api = apiOf(service)
    const put = (name: string, value: string, git: object = {}) =>
      api.json('PUT', `/agent/secrets/${name}`, { value, git: { host: host.host, ...git } })
    await put('GITHUB', TOKEN)
    await put('APP', app.privateKey.export({ type: 'pkcs1', format: 'pem' }).toString(), {
      app: { app_id: '7', installation_id: '8' },
    })
    await put('ELSEWHERE', TOKEN, { repositories: ['acme/other'] })
    await put('READS', TOKEN, { read_only: true })
    await put('OTHER_HOST', TOKEN, { host: 'git.example' })
    await api.json('PUT', '/agent/secrets/PLAIN', { value: 'no-token-of-git' })
  }, LIMIT)
  after(async () => {
    await service?.stop()
    await model?.close()
    host?.close()
  }, LIMIT)

  const create = (reply: object, prompt: string, body: object = {}) =>
    api.json<Trigger & { secret: string }>('POST', '/agent/triggers', {
      ...{ name: 'T', verification: 'github', prompt, reply },
      agent_config: { harness: { type: 'runbook' } },
      ...body,
    })
  async function post(
    { url, secret }: Trigger & { secret: string },
    event: string,
    payload: object,
  ): Promise<HookAnswer> {
    const body = JSON.stringify({
      ...payload,
      repository: { full_name: 'acme/site', html_url: `${host.url}/acme/site` },
    })
    const headers = { ...SIGN.github({ secret, body, id: randomUUID() }), 'x-github-event': event }
    return (await (await fetch(url, { method: 'POST', body, headers })).json()) as HookAnswer
  }
  const issue = (number: number) => ({ action: 'opened', issue: { number } })
  const commentsOn = (number: number): HostedComment[] =>
    host.comments.filter((comment) => comment.number === number)
  const deliveryOf = async (
    { trigger_id }: Trigger,
    { delivery_id }: HookAnswer,
  ): Promise<TriggerDelivery> => {
    const { deliveries } = await api.json<ListTriggerDeliveriesResponse>(
      'GET',
      `/agent/triggers/${trigger_id}/deliveries`,
    )
    const found = deliveries.find((delivery) => delivery.delivery_id === delivery_id)
    assert(found)
    return found
  }
  async function replied(trigger: Trigger, answer: HookAnswer, status = 'posted'): Promise<TriggerDelivery> {
    let found: TriggerDelivery | undefined
    await until(`a reply to be ${status}`, async () => {
      found = await deliveryOf(trigger, answer)
      return found.reply?.status === status
    })
    assert(found)
    return found
  }

  test('one comment says that a run began, and then what came of it', LIMIT, async () => {
    const trigger = await create({ secret: 'GITHUB' }, 'x', { agent_config: { worker_host: 'nobody' } })
    assert.deepEqual(trigger.reply, { secret: 'GITHUB' })
    const answer = await post(trigger, 'issues', issue(1))
    await until('a comment to be there', () => commentsOn(1).length > 0)
    const page = new URL(`/sessions/${answer.run_id}`, service.base_url).href
    const mark = `<!-- runyard:${answer.delivery_id} -->\n`
    assert.equal(commentsOn(1)[0]?.body, `${mark}Runyard [is working on it](${page}).`)
    await api.json('POST', `/agent/runs/${answer.run_id}/cancel`)
    const { reply } = await replied(trigger, answer)
    const [comment, ...more] = commentsOn(1)
    assert.deepEqual(more, [])
    assert.deepEqual(reply, {
      status: 'posted',
      url: `${host.url}/acme/site/issues/1#comment-${comment?.id}`,
    })
    assert.equal(comment?.body, `${mark}Runyard was [stopped](${page}).\n\n> Cancelled on request.`)
    const { entries } = await api.json<{ entries: AuditEntry[] }>('GET', '/audit-log?action=useSecrets')
    const uses = entries.filter(({ target }) => target === answer.run_id)
    assert.deepEqual(
      uses.map(({ via, detail }) => `${via} ${detail}`),
      Array(2).fill(`service GITHUB, to answer for trigger ${trigger.trigger_id}`),
    )
    // What GitHub tells of our own comment starts nothing.
    const own = await post(trigger, 'issue_comment', { ...issue(1), comment: { body: comment?.body } })
    assert.deepEqual([own.outcome, own.reason], ['filtered', 'It is about a comment of our own.'])
  })

  test('what the agent said last stands there, calls nobody and holds no token', LIMIT, async () => {
    const said = `Thanks @ann, _@bo_, /@cy and &#64;di, see <!-- ${TOKEN} -->`
    const trigger = await create({ secret: 'GITHUB', when: 'end' }, `${shell('echo it')}\n\n${said}`)
    const answer = await post(trigger, 'pull_request', { action: 'opened', pull_request: { number: 9 } })
    await replied(trigger, answer)
    const [comment] = commentsOn(9)
    assert.match(
      comment?.body ?? '',
      /\nRunyard is \[done\]\(.*\)\.\n\nThanks @\u2060ann, _@\u2060bo_, \/@\u2060cy and &amp;#64;di, see &lt;!-- \*\*\* -->$/,
    )
  })

  test('a thread on code is answered in it, by an App, at the end alone', LIMIT, async () => {
    const trigger = await create({ secret: 'APP', when: 'end' }, shell('exit 3'))
    const payload = { pull_request: { number: 2 }, comment: { id: 12, in_reply_to_id: 11, body: 'Why?' } }
    const answer = await post(trigger, 'pull_request_review_comment', payload)
    await replied(trigger, answer)
    const writes = host.requests.filter(({ method, path }) => method !== 'GET' && path.includes('/pulls/'))
    assert.deepEqual(
      writes.map(({ method, path }) => `${method} ${path}`),
      ['POST /api/v3/repos/acme/site/pulls/2/comments/11/replies'],
    )
    const [comment] = commentsOn(2)
    assert.match(comment?.body ?? '', /Runyard \[could not do it\]\(.*\)\.\n\n> /)
    const push = await post(trigger, 'push', { ref: 'refs/heads/main' })
    assert.equal(push.outcome, 'run_started')
    assert.equal('reply' in (await deliveryOf(trigger, push)), false)
  })

  test(
    'what GitHub did and did not say is not said twice, and what it refuses is tried again',
    LIMIT,
    async () => {
      const trigger = await create({ secret: 'GITHUB' }, shell('echo done'))
      let writes = 0
      interfere = (request) => {
        if (request.method !== 'POST') return undefined
        writes += 1
        if (writes > 1) return undefined
        // It is there, and nobody hears so.
        commentUnheard({ comments: host.comments, now }, request)
        return new Error('cut')
      }
      const first = await post(trigger, 'issue_comment', issue(3))
      const { reply } = await replied(trigger, first)
      assert.deepEqual([reply?.error, writes], [undefined, 1])
      assert.equal(commentsOn(3).length, 1)
      assert.match(commentsOn(3)[0]?.body ?? '', /is \[done\]/)
      let refusals = 0
      interfere = ({ method }) => {
        if (method !== 'POST' || refusals > 0) return undefined
        refusals += 1
        return { status: 403, body: { message: `Resource not accessible, said ${TOKEN}` } }
      }
      const second = await post(trigger, 'issues', issue(4))
      await until('a failure to be shown', async () => {
        const { reply: shown } = await deliveryOf(trigger, second)
        if (shown?.error === undefined) return false
        assert.equal(shown.status, 'pending')
        assert.match(shown.error, /^The credential GITHUB lacks access to acme\/site .*\[token\]”\.$/)
        return true
      })
      await replied(trigger, second)
      assert.equal(commentsOn(4).length, 1)
      interfere = ({ method }) =>
        method === 'POST'
          ? { status: 410, body: { message: 'Issues are disabled for this repo' } }
          : undefined
      const third = await post(trigger, 'issues', issue(5))
      const gone = await replied(trigger, third, 'failed')
      assert.match(gone.reply?.error ?? '', /takes no such comment \(410\): “Issues are disabled/)
      interfere = ({ method }) => (method === 'PATCH' ? { status: 404 } : undefined)
      const waiting = await create({ secret: 'GITHUB' }, 'x', { agent_config: { worker_host: 'nobody' } })
      const fourth = await post(waiting, 'issues', issue(6))
      await until('a comment to be there', () => commentsOn(6).length > 0)
      await api.json('POST', `/agent/runs/${fourth.run_id}/cancel`)
      const deleted = await replied(waiting, fourth, 'failed')
      assert.equal(deleted.reply?.error, 'The comment was deleted on GitHub.')
      assert.equal(commentsOn(6).length, 1)
      interfere = undefined
    },
  )

  test('it is found behind others, by another clock, and not said twice', LIMIT, async () => {
    behind_ms = 120_000
    const place = { repository: 'acme/site', number: 20, kind: 'issues' } as const
    for (let count = 0; count < 130; count++)
      addComment({ comments: host.comments, now }, { ...place, body: 'Me too.' })
    let cut = false
    let refuses = true
    interfere = (request) => {
      if (request.method === 'PATCH' && refuses) return { status: 403 }
      if (request.method !== 'POST' || cut) return undefined
      cut = true
      commentUnheard({ comments: host.comments, now }, request)
      return new Error('cut')
    }
    const trigger = await create({ secret: 'GITHUB' }, shell('echo done'))
    const answer = await post(trigger, 'issues', issue(20))
    // Once it is found it is known, whatever becomes of what it is to say.
    await until('it to be found', async () => {
      const { reply } = await deliveryOf(trigger, answer)
      return reply?.error?.includes('lacks access') && reply.url !== undefined
    })
    refuses = false
    await replied(trigger, answer)
    const ours = commentsOn(20).filter(({ body }) => body.includes('<!-- runyard:'))
    assert.deepEqual([cut, ours.length], [true, 1])
    assert.match(ours[0]?.body ?? '', /is \[done\]/)
    behind_ms = 0
    interfere = undefined
  })

  test('a question is asked in the thread, and its answer there goes on with the run', LIMIT, async () => {
    const prompt = '[["ask_user", {"question": "Red or blue, @ann?", "options": ["red", "blue"]}]]'
    const trigger = await create({ secret: 'GITHUB' }, prompt, { agent_config: { harness: { type: 'oz' } } })
    const answer = await post(trigger, 'issues', issue(21))
    await until('the question to be asked', () => commentsOn(21)[0]?.body.includes('waits for a person'))
    const page = new URL(`/sessions/${answer.run_id}`, service.base_url).href
    assert.equal(
      commentsOn(21)[0]?.body,
      `<!-- runyard:${answer.delivery_id} -->\nRunyard [waits for a person](${page}).\n\n` +
        '> Red or blue, @\u2060ann?\n> 1. red\n> 2. blue',
    )
    assert.equal((await deliveryOf(trigger, answer)).reply?.status, 'pending')
    await api.json('POST', `/agent/runs/${answer.run_id}/followups`, {
      message: '[["ask_user", {"question": "Light or dark?"}]]',
    })
    await until('the next question to be asked', () => commentsOn(21)[0]?.body.includes('> Light or dark?'))
    await api.json('POST', `/agent/runs/${answer.run_id}/followups`, { message: 'Dark.' })
    await replied(trigger, answer)
    assert.equal(commentsOn(21).length, 1)
    assert.match(commentsOn(21)[0]?.body ?? '', /is \[done\]\(.*\)\.\n\nDone\.$/)
    // With an answer at the end alone, somebody has to hear of the question all the same.
    const late = await create({ secret: 'GITHUB', when: 'end' }, prompt, {
      agent_config: { harness: { type: 'oz' } },
    })
    await post(late, 'issues', issue(22))
    await until('the question to be asked', () => commentsOn(22)[0]?.body.includes('> Red or blue'))
  })

  test('a token goes to its own host alone, for the repositories that it is for', LIMIT, async () => {
    const trigger = await create({ secret: 'ELSEWHERE' }, shell('echo done'))
    const refused = await replied(trigger, await post(trigger, 'issues', issue(7)), 'failed')
    assert.equal(refused.reply?.error, `ELSEWHERE is not for acme/site on ${host.host}.`)
    const { url, secret } = await create({ secret: 'GITHUB' }, shell('echo done'))
    const trap = { full_name: 'acme/site', html_url: 'https://evil.example/acme/site' }
    const body = JSON.stringify({ ...issue(8), repository: trap })
    const headers = SIGN.github({ secret, body, id: randomUUID() })
    const answer = (await (await fetch(url, { method: 'POST', body, headers })).json()) as HookAnswer
    const { trigger_id = '' } = (await api.get(answer.run_id ?? '')).trigger ?? {}
    const trapped = await replied({ trigger_id } as Trigger, answer, 'failed')
    assert.equal(trapped.reply?.error, 'GITHUB is not for acme/site on evil.example.')
    assert.deepEqual([commentsOn(7), commentsOn(8)], [[], []])
  })

  test('a secret that cannot answer is refused when the trigger is saved', LIMIT, async () => {
    const refusals: Array<[object, object, RegExp]> = [
      [{ secret: 'NONE' }, {}, /^reply\.secret: there is no secret NONE\.$/],
      [{ secret: 'PLAIN' }, {}, /^reply\.secret: PLAIN is no token of git/],
      [{ secret: 'READS' }, {}, /^reply\.secret: READS is read-only\.$/],
      [{ secret: 'OTHER_HOST' }, {}, /^reply\.secret: git\.example is not known to be a GitHub host/],
      [{ secret: 'GITHUB', wen: 'end' }, {}, /^reply/],
      [{ secret: 'GITHUB' }, { verification: 'gitlab' }, /^reply: needs verification: github/],
    ]
    for (const [reply, more, detail] of refusals) {
      const body = { name: 'T', verification: 'github', prompt: 'x', reply, ...more }
      const answer = await api.call('POST', '/agent/triggers', body)
      assert.equal(answer.status, 400)
      assert.match(((await answer.json()) as { detail: string }).detail, detail)
    }
  })
})
