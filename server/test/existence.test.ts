/** To those who may not see a run, a schedule or a trigger, it and a run that never was are the same, byte for byte. */
import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { RouteDefinition } from '../src/contract/route.ts'
import { type OperationId, ROUTES } from '../src/contract/routes.ts'
import { onFace } from './support/face.ts'
import { exchange, formatRequest } from './support/raw-http.ts'

const NOWHERE = '01980000-0000-7000-8000-00000000000'
const KEY = `${NOWHERE}4`
/** As long as what they stand for: lengths must not differ either. */
const UNKNOWN: Record<string, string> = {
  run: `${NOWHERE}1`,
  artifact: `${NOWHERE}2`,
  // A run that begins a conversation gives it its own id.
  conversation: `${NOWHERE}1`,
  schedule: `${NOWHERE}5`,
  trigger: `${NOWHERE}6`,
}

interface Asked {
  name: string
  method: string
  /** `{run}`, `{artifact}`, `{conversation}`, `{schedule}`, `{trigger}`: first what is hidden, then what never was. */
  path: string
  body?: string
  headers?: ReadonlyArray<readonly [string, string]>
  key?: false
}

const BODIES: Partial<Record<OperationId, unknown>> = {
  submitFollowup: { message: 'x', attachments: [{ file_name: 'a', mime_type: 'text/plain', data: 'eA==' }] },
  submitConversationFollowup: { message: 'x' },
  cancelRun: {},
  interruptRun: {},
  updateRun: { title: 'x' },
  archiveRun: {},
  unarchiveRun: {},
  interruptConversation: {},
  updateSchedule: { name: 's', cron_schedule: '0 0 1 1 *', prompt: 'x', enabled: false },
  updateTrigger: { name: 't', verification: 'github', prompt: 'x', enabled: false },
}
const operations = (Object.entries(ROUTES) as Array<[OperationId, RouteDefinition]>).filter(([, { path }]) =>
  /\{(run_id|artifact_uid|conversation_id|schedule_id|trigger_id)\}/.test(path),
)
const pathOf = ({ path }: RouteDefinition): string =>
  `/api/v1${path
    .replace('{run_id}', '{run}')
    .replace('{screenshot_uid}', '{artifact}')
    .replace(/\{(artifact|conversation|schedule|trigger)_u?id\}/, '{$1}')
    .replace('{delivery_id}', KEY)}`

const ASKED: Asked[] = [
  ...operations.map(([name, route]) => ({
    name,
    method: route.method,
    path: pathOf(route),
    ...(route.body ? { body: JSON.stringify(BODIES[name]) } : {}),
  })),
  ...operations
    .filter(([, route]) => route.method === 'GET')
    .map(([name, route]) => ({ name: `HEAD of ${name}`, method: 'HEAD', path: pathOf(route) })),
  ...operations
    .filter(([, route]) => route.method === 'POST')
    .flatMap(([name, route]) => [
      {
        name: `${name} with an Idempotency-Key`,
        method: 'POST',
        path: pathOf(route),
        body: JSON.stringify(BODIES[name]),
        headers: [['Idempotency-Key', 'the same']] as const,
      },
      { name: `${name} with a wrong body`, method: 'POST', path: pathOf(route), body: '[1]' },
      { name: `${name} with an empty body`, method: 'POST', path: pathOf(route), body: '{}' },
    ]),
  {
    name: 'a stream of events',
    method: 'GET',
    path: '/api/v1/agent/runs/{run}/events',
    headers: [['Accept', 'text/event-stream']],
  },
  {
    name: 'a stream of it and others',
    method: 'GET',
    path: '/api/v1/agent/events/stream?run_ids={run}',
  },
  {
    name: 'a stream of its descendants',
    method: 'GET',
    path: '/api/v1/agent/events/stream?ancestor_run_id={run}',
  },
  {
    name: 'a child of it',
    method: 'POST',
    path: '/api/v1/agent/runs',
    body: '{"prompt":"x","parent_run_id":"{run}"}',
  },
  {
    name: 'a replay of it',
    method: 'POST',
    path: '/api/v1/agent/runs',
    body: '{"replay_of_run_id":"{run}"}',
  },
  {
    name: 'a fork of it',
    method: 'POST',
    path: '/api/v1/agent/runs',
    body: '{"prompt":"x","fork_of":{"run_id":"{run}"}}',
  },
  {
    name: 'its conversation',
    method: 'POST',
    path: '/api/v1/agent/runs',
    body: '{"prompt":"x","conversation_id":"{conversation}"}',
  },
  { name: 'its descendants', method: 'GET', path: '/api/v1/agent/runs?ancestor_run_id={run}' },
  { name: 'runs of it', method: 'GET', path: '/api/v1/agent/runs?schedule_id={schedule}' },
  { name: 'runs of its trigger', method: 'GET', path: '/api/v1/agent/runs?trigger_id={trigger}' },
  { name: 'its page', method: 'GET', path: '/sessions/{run}', key: false },
  { name: 'its page with a key', method: 'GET', path: '/sessions/{run}' },
  { name: 'HEAD of its page', method: 'HEAD', path: '/sessions/{run}', key: false },
  ...['visit {run}', '1'].map((page) => ({
    name: `the run by the page with a bad cookie, as ${page}`,
    method: 'GET',
    path: '/api/v1/agent/runs/{run}',
    key: false as const,
    headers: [
      ['X-Runyard-Page', page],
      ['Cookie', `runyard_session=${'A'.repeat(43)}; runyard_visit_{run}=${'A'.repeat(43)}`],
    ] as const,
  })),
  ...['A'.repeat(43), `9999999999.${KEY}.${'A'.repeat(43)}`].map((token) => ({
    name: `opening its page with a forged link, ${token.length}`,
    method: 'POST',
    path: '/web/visits',
    body: JSON.stringify({ run_id: '{run}', token }),
    headers: [
      ['Origin', '{origin}'],
      ['X-Runyard-Page', '1'],
    ] as const,
    key: false as const,
  })),
  {
    name: 'a forged download',
    method: 'GET',
    path: `/downloads/artifacts/{artifact}?expires=9999999999&key=${KEY}&signature=${'A'.repeat(43)}`,
    key: false,
  },
  {
    name: 'a forged transcript',
    method: 'GET',
    path: `/downloads/transcripts/{run}.jsonl?expires=9999999999&key=${KEY}&signature=${'A'.repeat(43)}`,
    key: false,
  },
  {
    name: 'a forged workspace',
    method: 'GET',
    path: `/downloads/snapshots/{run}?expires=9999999999&key=${KEY}&signature=${'A'.repeat(43)}`,
    key: false,
  },
  {
    name: 'a redirect of its session',
    method: 'GET',
    path: '/api/v1/agent/sessions/{run}/redirect',
    key: false,
  },
]

onFace('a personal run of somebody else', (face) => {
  const hidden: Record<string, string> = {}
  let base_url: string
  let keys: Record<'member' | 'viewer' | 'admin', string>

  before(async () => {
    const { other: owner, worker, listen } = face()
    base_url = await listen()
    const config = { worker_host: worker.pool }
    hidden.run = await owner.create({ prompt: 'x', team: false, config })
    const lease = await worker.start(hidden.run)
    hidden.artifact = await worker.keep(lease, 'x', 'x\n')
    await worker.end(lease)
    hidden.conversation = (await owner.get(hidden.run)).conversation_id ?? ''
    const schedule = { name: 's', cron_schedule: '0 0 1 1 *', prompt: 'x', team: false }
    const trigger = { name: 't', verification: 'github', prompt: 'x', team: false }
    hidden.trigger = (await owner.json<{ trigger_id: string }>('POST', '/agent/triggers', trigger)).trigger_id
    hidden.schedule = (await owner.json<{ id: string }>('POST', '/agent/schedules', schedule)).id
    const member = { name: 'another', role: 'member', new_user: true }
    keys = {
      ...face().keys,
      member: (await face().admin.json<{ api_key: string }>('POST', '/api-keys', member)).api_key,
    }
  })

  async function ask(asked: Asked, ids: Record<string, string>, key: string): Promise<string> {
    const fill = (text: string): string =>
      text
        .replace('{origin}', face().origin)
        .replace(/\{(run|artifact|conversation|schedule|trigger)\}/g, (_, word: string) => ids[word] ?? '')
    const answer = await exchange(
      base_url,
      formatRequest({
        method: asked.method,
        path: fill(asked.path),
        headers: [
          ...(asked.key === false ? [] : [['Authorization', `Bearer ${key}`] as const]),
          ...(asked.body === undefined ? [] : [['Content-Type', 'application/json'] as const]),
          ...(asked.headers ?? []).map(([name, value]) => [name, fill(value)] as const),
        ],
        ...(asked.body === undefined ? {} : { body: fill(asked.body) }),
      }),
    )
    assert(answer, 'There was no answer.')
    const request_id = answer.headers.get('x-request-id') ?? 'no request id'
    const text = JSON.stringify([answer.status, [...answer.headers], answer.body])
      .replaceAll(request_id, 'REQUEST')
      // The page's own, another each time.
      .replace(/nonce-[\w+/=]+/, 'nonce-ONE')
      .replace(/(style-nonce[^>]*content=\\?")[\w+/=]+/, '$1ONE')
      .replace(/"date","[^"]*"/, '"date"')
    // The path that was asked for is said again.
    return Object.entries(ids).reduce((all, [word, id]) => all.replaceAll(id, `{${word}}`), text)
  }

  for (const asked of ASKED) {
    test(asked.name, async () => {
      for (const role of ['member', 'viewer', 'admin'] as const) {
        const unknown = await ask(asked, UNKNOWN, keys[role])
        assert.equal(await ask(asked, hidden, keys[role]), unknown, `as ${role}`)
      }
    })
  }
})
