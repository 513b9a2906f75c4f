/** What is told of runs beside the runs themselves: timelines, what agents used, whose an address is, and networks. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NewEvent } from '../src/contract/event.ts'
import type { RunHarnessUsage } from '../src/contract/harness-usage.ts'
import type { RunTimeline } from '../src/contract/timeline.ts'
import { appendEvents } from '../src/store/events.ts'
import { loseWorker } from '../src/store/leases.ts'
import { recordPush } from '../src/store/pushes.ts'
import { readLiveness, requeueLost, requeueRun, startRun } from '../src/store/transitions.ts'
import { onFace } from './support/face.ts'
import { createComponentCheck } from './support/openapi.ts'
import { RowWorker } from './support/stored-runs.ts'

const check = createComponentCheck()

const usage = (model_id: string, data: object): NewEvent => ({
  type: 'usage',
  data: { model_id, input_tokens: 100, output_tokens: 10, total_tokens: 110, ...data },
})
const call = (tool_call_id: string, name: string): NewEvent => ({
  type: 'tool.call',
  data: { tool_call_id, name, input: { path: 'x'.repeat(100) } },
})

onFace(
  'reports of runs',
  (face) => {
    const reports = {
      timeline: async (run_id: string) => {
        const path = `/agent/runs/${run_id}/timeline`
        const timeline = await face().admin.json<RunTimeline>('GET', path)
        check('RunTimeline', timeline)
        return timeline.events
      },
      usage: async (run_id: string) => {
        const path = `/agent/runs/${run_id}/harness-usage`
        const found = await face().admin.json<RunHarnessUsage>('GET', path)
        check('RunHarnessUsage', found)
        return found
      },
    }

    test('a timeline has what happened to the run as a whole, in order, over its executions', async () => {
      const { admin, worker, store } = face()
      const run_id = await admin.create({ prompt: 'x', config: { worker_host: worker.pool } })
      const types = async () => (await reports.timeline(run_id)).map(({ event_type }) => event_type)
      assert.deepEqual(await types(), ['oz_run_created'])
      const lease = await worker.take(run_id)
      const setup = { phase: 'sandbox', name: 'host' } as const
      await appendEvents(store.db, lease, 1, [
        { type: 'setup', data: { ...setup, status: 'started' } },
        { type: 'setup', data: { ...setup, status: 'finished', duration_ms: 7 } },
        { type: 'setup', data: { phase: 'clone', name: 'shop', status: 'finished' } },
      ])
      await startRun(store.db, lease, { harness: 'runbook' })
      await worker.end(lease)
      const first = [
        'oz_run_created',
        'oz_run_claimed',
        ...['worker_container_ready', 'shared_session_started', 'agent_started'],
        ...['oz_run_done', 'vm_shutdown'],
      ]
      assert.deepEqual(await types(), first)
      await admin.json('POST', `/agent/runs/${run_id}/followups`, { message: 'again' })
      const again = await worker.start(run_id)
      await admin.json('POST', `/agent/runs/${run_id}/cancel`)
      await worker.release(again)
      const events = await reports.timeline(run_id)
      assert.deepEqual(
        events.map(({ event_type }) => event_type),
        [...first, 'oz_run_claimed', 'agent_started', 'oz_run_cancelled', 'vm_shutdown'],
      )
      assert.deepEqual(
        events.map(({ execution_id }) => execution_id),
        [...first.map(() => 1), 2, 2, 2, 2],
      )
      assert.equal(new Set(events.map(({ event_uuid }) => event_uuid)).size, events.length)
      assert.deepEqual(await reports.timeline(run_id), events, 'ids stay')
      assert.deepEqual(events[3]?.payload, { session_id: run_id })
      assert.deepEqual(events.at(-2)?.payload?.status_message, { message: 'Cancelled on request.' })
    })

    test('a worker that hands the run back has stopped its sandbox, and so has one that was lost', async () => {
      const { admin, store, watch, blobs } = face()
      const worker = new RowWorker({ store, watch, blobs })
      const run_id = await admin.create({ prompt: 'x', config: { worker_host: worker.pool } })
      assert(await requeueRun(store.db, await worker.start(run_id), 'The worker stops.', false))
      await worker.start(run_id)
      const beat = (await readLiveness(store.db)).beats.find(
        ({ worker_id }) => worker_id === worker.worker_id,
      )?.beat
      assert(await loseWorker(store.db, worker.worker_id, beat ?? -1))
      await requeueLost(store.db, () => assert.fail())
      const events = await reports.timeline(run_id)
      assert.deepEqual(
        events.flatMap(({ event_type, payload }) => (event_type === 'vm_shutdown' ? [payload] : [])),
        [
          { attempt: 1, reason: 'The worker stops.' },
          { attempt: 2, reason: 'The worker stopped answering.' },
        ],
      )
    })

    test('each agent counts in its own way, with the tokens of the cache apart', async () => {
      const { admin, worker, store } = face()
      const start = async (harness: string) => {
        const run_id = await admin.create({ prompt: 'x', config: { worker_host: worker.pool } })
        const lease = await worker.take(run_id)
        await startRun(store.db, lease, { harness })
        return { run_id, lease }
      }
      const claude = await start('claude')
      const nothing = await reports.usage(claude.run_id)
      assert.deepEqual([nothing.available, 'usage' in nothing], [false, false])
      const events = [
        call('a', 'Edit'),
        call('a', 'Edit'),
        call('b', 'Bash'),
        usage('anthropic/big', { cached_input_tokens: 70, cache_write_tokens: 20 }),
        usage('anthropic/small', { estimated: true }),
      ]
      await appendEvents(store.db, claude.lease, 1, events)
      const { usage: used, ...around } = await reports.usage(claude.run_id)
      assert.equal(around.available, true)
      assert(used?.harness === 'CLAUDE_CODE' && (around.age_seconds ?? -1) >= 0)
      assert.deepEqual(used.snapshot.coverage, { tokenStatus: 'partial', toolStatus: 'known' })
      const tokens = (input_tokens: number, output_tokens: number, read: number, written: number) => ({
        ...{ input_tokens, output_tokens },
        ...{ cache_read_input_tokens: read, cache_creation_input_tokens: written },
      })
      assert.deepEqual(used.snapshot.payload, {
        usage: tokens(110, 20, 70, 20),
        attribution: [
          { model: 'anthropic/big', usage: tokens(10, 10, 70, 20) },
          { model: 'anthropic/small', usage: tokens(100, 10, 0, 0) },
        ],
        toolCalls: { byName: { Edit: 1, Bash: 1 }, total: 2 },
      })

      const codex = await start('codex')
      await appendEvents(store.db, codex.lease, 1, [usage('openai/big', { cached_input_tokens: 70 })])
      const { usage: other } = await reports.usage(codex.run_id)
      assert(other?.harness === 'CODEX')
      assert.deepEqual(other.snapshot.payload.usage, {
        ...{ input_tokens: 100, output_tokens: 10, total_tokens: 110 },
        ...{ cached_input_tokens: 70, cache_write_input_tokens: 0 },
      })

      const own = await start('oz')
      await appendEvents(store.db, own.lease, 1, [usage('openai/big', {})])
      assert.equal((await reports.usage(own.run_id)).available, false)
      for (const { lease } of [claude, codex, own]) await worker.end(lease)
    })

    test('an address leads to the run that produced it, for those who may see that run', async () => {
      const { admin, other, worker, store } = face()
      const url = 'https://git.example/acme/shop/pull/7'
      const push = async (run_id: string, branch: string) => {
        const lease = await worker.start(run_id)
        const pushed = { directory: 'shop', repository: 'git.example/acme/shop', branch, commit: 'c' }
        const pull_request = { number: 7, url }
        await recordPush(store.db, lease, { ...pushed, url, pull_request, artifact_uid: run_id })
        await worker.end(lease)
      }
      const config = { worker_host: worker.pool }
      const find = (api: typeof admin, at = url) =>
        api.call('GET', `/agent/run-by-external-reference?url=${encodeURIComponent(at)}`)
      assert.equal((await find(admin)).status, 404)
      const opened = await admin.create({ prompt: 'x', config, team: false })
      await push(opened, `runyard/${opened}`)
      // It found the same result at the first one's pull request.
      const linked = await admin.create({ prompt: 'x', config, team: false })
      await push(linked, `runyard/${opened}`)
      const found = await find(admin, `${url.replace('git.', 'GIT.')}/#files`)
      assert.deepEqual([found.status, await found.json()], [200, { run_id: opened }])
      assert.equal((await find(other)).status, 404)
      assert.equal((await find(admin, 'ftp://git.example/x')).status, 400)
    })

    test('the networks are those that the operator says, each once', async () => {
      assert.deepEqual(await face().viewer.json('GET', '/networking/egress-ranges'), {
        cidrs: ['203.0.113.0/28', '2001:db8::/48'],
      })
    })

    test('whatever is asked of factories, there are none', async () => {
      const { fetch, base_url } = face()
      for (const [method, path] of [
        ['GET', '/factory'],
        ['PATCH', '/factory/f/tasks/t'],
        ['POST', '/factory/f/runs'],
        ['GET', '/factory-files/schemas/1'],
      ] as const) {
        // Without a key: the published clients send none to some of these.
        const answer = await fetch(base_url + path, { method })
        const { error_code, detail } = (await answer.json()) as Record<string, string>
        assert.deepEqual([answer.status, error_code], [404, 'feature_not_available'], path)
        assert.match(detail ?? '', /has no factories/)
      }
    })
  },
  () => ({ RUNYARD_EGRESS_RANGES: '203.0.113.9/28, 2001:DB8::1/48,203.0.113.0/28' }),
)
