/** Calls that a person has to allow: the run waits, is answered, and goes on. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { PendingApproval } from '../src/contract/approval.ts'
import type { RunEvent } from '../src/contract/event.ts'
import type { PermissionRule } from '../src/contract/permission.ts'
import type { RunItem } from '../src/contract/run.ts'
import { type ModelServer, openModelServer } from './support/model-server.ts'
import { obey } from './support/obedient-model.ts'
import { onlyLong } from './support/once.ts'
import { scriptedAgent } from './support/scripted-agent.ts'
import { apiOf, shell, startService, type TestService } from './support/service.ts'
import { assertWhole, ofType, printed } from './support/traces.ts'

const is_root = process.getuid?.() === 0
const TOUCH: PermissionRule[] = [{ tool: 'bash', pattern: 'touch *', action: 'ask' }]

let model: ModelServer
let service: TestService
let api: ReturnType<typeof apiOf>
before(async () => {
  model = await openModelServer(obey)
  const mine = { command: scriptedAgent('resume'), provider: 'openai' }
  service = await startService({
    env: {
      RUNYARD_ACP_AGENTS: JSON.stringify({ mine }),
      OPENAI_BASE_URL: model.url,
      OPENAI_API_KEY: 'a-key',
    },
  })
  api = apiOf(service)
})
after(async () => {
  await service?.stop()
  await model?.close()
})

for (const harness of ['oz', 'mine'])
  describe(`approvals, ${harness}`, {
    skip: harness === 'mine' && !is_root && 'only root has the gateway everywhere',
  }, () => {
    const begin = async (commands: string[], permissions = TOUCH, more: object = {}): Promise<string> => {
      const prompt = commands.map((command) => `$ ${command}`).join('\n')
      return api.create({ prompt, config: { harness: { type: harness }, permissions, ...more } })
    }
    const rested = (run_id: string, after = 0): Promise<RunItem> =>
      api.until(
        run_id,
        ({ state, attempt }) => attempt > after && !['QUEUED', 'CLAIMED', 'INPROGRESS'].includes(state),
      )
    const waiting = async (
      run_id: string,
      after = 0,
    ): Promise<{ approval: PendingApproval; attempt: number }> => {
      const { state, status_message, attempt } = await rested(run_id, after)
      assert.equal(state, 'BLOCKED', status_message?.message)
      assert(status_message?.approval, status_message?.message)
      return { approval: status_message.approval, attempt }
    }
    const answer = (run_id: string, { approval_id }: PendingApproval, body: object) =>
      api.json<{ sequence: number; decision: string }>(
        'POST',
        `/agent/runs/${run_id}/approvals/${approval_id}`,
        body,
      )
    // The rules and who holds them are the same for every agent.
    const detail = harness === 'oz' ? test : onlyLong
    const results = (events: RunEvent[]) => ofType(events, 'tool.result').map(({ data }) => data)

    test('a call waits, with what it is about; allowed once, it is made, and the next one waits', async () => {
      const run_id = await begin(['echo before', 'touch one', 'touch two; ls'])
      const first = await waiting(run_id)
      assert.equal(first.approval.tool, 'bash')
      assert.match(first.approval.title ?? '', /touch one/)
      const asked = await api.events(run_id)
      assert.equal(printed(asked), 'before\n', 'nothing was begun')
      const { sequence, decision } = await answer(run_id, first.approval, { decision: 'allow_once' })
      assert.deepEqual([decision, sequence], ['allow_once', asked.length + 1])
      const second = await waiting(run_id, first.attempt)
      assert.match(second.approval.title ?? '', /touch two/)
      await answer(run_id, second.approval, { decision: 'allow_once' })
      const { state } = await rested(run_id, second.attempt)
      const events = await api.events(run_id)
      assert.equal(state, 'SUCCEEDED')
      assert.match(printed(events), /^before\n(?:.*\n)*one\ntwo\n$/)
      assertWhole(events)
      const [said] = ofType(events, 'approval.answered')
      assert.equal(said?.data.author.length !== 0, true)
    })

    test('answered as soon as the log asks, the answer waits for the end of the turn', async () => {
      for (let index = 0; index < 3; index++) {
        const run_id = await begin(['touch one', 'ls'])
        const asked = await api.found(run_id, (events) => ofType(events, 'approval.requested')[0])
        await answer(run_id, asked.data, { decision: 'allow_once' })
        assert.equal((await api.ended(run_id)).state, 'SUCCEEDED')
        const events = await api.events(run_id)
        assert.match(printed(events), /^one$/m)
        const [answered] = ofType(events, 'approval.answered')
        const stopped = events.find(({ type, data }) => type === 'run.state' && data.state === 'BLOCKED')
        assert(stopped && answered && stopped.sequence < answered.sequence)
      }
    })

    test('allowed for the whole run, the same rule asks no more', async () => {
      const run_id = await begin(['touch one', 'touch two', 'ls'])
      const { approval, attempt } = await waiting(run_id)
      await answer(run_id, approval, { decision: 'allow_always' })
      assert.equal((await rested(run_id, attempt)).state, 'SUCCEEDED')
      const events = await api.events(run_id)
      assert.match(printed(events), /one\ntwo\n$/)
      assert.equal(ofType(events, 'approval.requested').length, 1)
    })

    test('denied, it is never made, and the agent is told why', async () => {
      const run_id = await begin(['touch one', 'ls -a'])
      const { approval, attempt } = await waiting(run_id)
      await answer(run_id, approval, { decision: 'deny', reason: 'Not on a Friday.' })
      assert.equal((await rested(run_id, attempt)).state, 'SUCCEEDED')
      const events = await api.events(run_id)
      assert.doesNotMatch(printed(events), /^one$/m)
      if (harness === 'oz')
        assert.match(results(events)[0]?.output ?? '', /denied this call\. They said: Not on a Friday\./)
    })

    detail('what a rule denies is refused without a question', async () => {
      const rules: PermissionRule[] = [{ tool: 'ba*', pattern: '*secret*', action: 'deny' }]
      const run_id = await begin(['touch secret', 'ls'], rules)
      assert.equal((await rested(run_id)).state, 'SUCCEEDED')
      const events = await api.events(run_id)
      assert.doesNotMatch(printed(events), /secret/)
      assert.equal(ofType(events, 'approval.requested').length, 0)
    })

    detail('a message in place of an answer goes on without the call', async () => {
      const run_id = await begin(['touch one'])
      const { approval, attempt } = await waiting(run_id)
      await api.json('POST', `/agent/runs/${run_id}/followups`, { message: '$ ls\n$ ls -d .' })
      assert.equal((await rested(run_id, attempt)).state, 'SUCCEEDED')
      assert.doesNotMatch(printed(await api.events(run_id)), /^one$/m)
      const late = await api.call('POST', `/agent/runs/${run_id}/approvals/${approval.approval_id}`, {
        decision: 'allow_once',
      })
      assert.equal(late.status, 409)
    })

    detail('the environment’s rules hold as well, and the stricter counts', async () => {
      const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', {
        name: `strict ${harness}`,
        permissions: [{ tool: '*', pattern: 'touch *', action: 'deny' }],
      })
      const run_id = await begin(['touch one', 'ls'], TOUCH, { environment_id: uid })
      assert.equal((await rested(run_id)).state, 'SUCCEEDED')
      assert.doesNotMatch(printed(await api.events(run_id)), /^one$/m)
    })

    detail('the rules of the parent hold as well, and the strictest counts', async () => {
      const strict: PermissionRule[] = [{ tool: '*', pattern: 'touch *', action: 'deny' }]
      const parent = await begin(['ls'], strict)
      assert.equal((await rested(parent)).state, 'SUCCEEDED')
      const lax: PermissionRule[] = [{ tool: '*', action: 'allow' }]
      const below = (parent_run_id: string, prompt: string) =>
        api.create({ prompt, parent_run_id, config: { harness: { type: harness }, permissions: lax } })
      const child = await below(parent, '$ ls')
      const grandchild = await below(child, '$ touch one\n$ ls')
      assert.equal((await rested(grandchild)).state, 'SUCCEEDED')
      assert.doesNotMatch(printed(await api.events(grandchild)), /^one$/m)
    })

    if (harness !== 'oz') return

    test('bad answers are refused', async () => {
      const run_id = await begin(['touch one'])
      const { approval } = await waiting(run_id)
      const post = async (id: string, body: unknown): Promise<number> =>
        (await api.call('POST', `/agent/runs/${run_id}/approvals/${id}`, body)).status
      assert.equal(await post(approval.approval_id, { decision: 'maybe' }), 400)
      assert.equal(await post(approval.approval_id, {}), 400)
      assert.equal(await post(approval.approval_id, { decision: 'deny', reason: 'x'.repeat(5_000) }), 400)
      assert.equal(await post('nothing', { decision: 'deny' }), 404)
      assert.equal(await post('x'.repeat(65), { decision: 'deny' }), 400)
      const both = await Promise.all([
        post(approval.approval_id, { decision: 'allow_once' }),
        post(approval.approval_id, { decision: 'deny' }),
      ])
      assert.deepEqual(both.sort(), [200, 409])
      const cancelled = await begin(['touch one'])
      const open = await waiting(cancelled)
      await api.json('POST', `/agent/runs/${cancelled}/cancel`)
      const path = `/agent/runs/${cancelled}/approvals/${open.approval.approval_id}`
      assert.equal((await api.call('POST', path, { decision: 'allow_once' })).status, 409)
    })

    test('a runbook is refused where something would have to ask', async () => {
      const config = { harness: { type: 'runbook' }, permissions: TOUCH }
      assert.equal((await api.call('POST', '/agent/runs', { prompt: shell('true'), config })).status, 400)
      const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', {
        name: 'asks',
        permissions: TOUCH,
      })
      const request = {
        prompt: shell('true'),
        config: { harness: { type: 'runbook' }, environment_id: uid },
      }
      const refused = await api.call('POST', '/agent/runs', request)
      assert.equal(refused.status, 400)
      assert.match(
        await refused.text(),
        /config\.environment_id: permissions of the environment: the harness runbook/,
      )
      // Rules that came after the run was created: only its worker knows them.
      await api.json('PUT', `/agent/environments/${uid}`, { name: 'asks' })
      const run_id = await api.create(request)
      assert.equal((await api.ended(run_id)).state, 'SUCCEEDED')
      await api.json('PUT', `/agent/environments/${uid}`, { name: 'asks', permissions: TOUCH })
      await api.json('POST', `/agent/runs/${run_id}/followups`, { message: shell('true') })
      const { state, status_message } = await api.until(
        run_id,
        (run) =>
          run.state !== 'QUEUED' &&
          run.attempt === 2 &&
          run.finished_at !== undefined &&
          !run.is_sandbox_running,
      )
      assert.deepEqual([state, status_message?.error_code], ['FAILED', 'feature_not_available'])
    })
  })
