/** `runyard dev` that is killed while it has several things in hand, twice: the next one finds them all. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { PendingApproval } from '../src/contract/approval.ts'
import type { RunDiff } from '../src/contract/diff.ts'
import { git, makeRepository } from './support/git.ts'
import { type ModelServer, openModelServer } from './support/model-server.ts'
import { obey } from './support/obedient-model.ts'
import { LONG } from './support/once.ts'
import { scriptedAgent } from './support/scripted-agent.ts'
import { apiOf, shell, startDevProcess, startService, temporaryDirectory } from './support/service.ts'
import { ofType, printed } from './support/traces.ts'

const place = temporaryDirectory('repositories')
const data_dir = temporaryDirectory('data')
let model: ModelServer
let service: { base_url: string; api_key: string; stop(): Promise<void> }
/** Of a service that is a process of its own. */
let kill: () => Promise<void>
let api: ReturnType<typeof apiOf>

const options = () => ({
  data_dir,
  env: {
    RUNYARD_LOCAL_REPOS: place,
    RUNYARD_ACP_AGENTS: JSON.stringify({ mine: { command: scriptedAgent('resume'), provider: 'openai' } }),
    ...{ OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'a-key' },
  },
})
const start = async (): Promise<void> => {
  const started = await startDevProcess(options())
  service = started
  kill = () => started.kill('SIGKILL')
  api = apiOf(started)
}
const says = (run_id: string, text: string) => api.found(run_id, (events) => printed(events).includes(text))

/** One that edits its repository and is then in the middle of something. */
const change = { run_id: '', base_commit: '' }
/** By harness: one that waits for an answer. The rules and who holds them are the same for every agent. */
const asking: Record<string, { run_id: string; approval: PendingApproval; attempt: number }> = {}

before(async () => {
  makeRepository(join(place, 'repo'))
  change.base_commit = git(join(place, 'repo'), 'rev-parse', 'HEAD')
  model = await openModelServer(obey)
  await start()

  const environment = { name: 'changes', repositories: [{ local_path: join(place, 'repo') }] }
  const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', environment)
  const edit = 'echo more >> file; echo ready; until [ -e ../go ]; do sleep 0.1; done'
  const config = { environment_id: uid, harness: { type: 'runbook' } }
  change.run_id = await api.create({ prompt: shell(edit), config })
  for (const harness of LONG ? ['oz', 'mine'] : ['oz']) {
    const run_id = await api.create({
      prompt: '$ touch one; echo begun; sleep 3; echo made',
      config: {
        harness: { type: harness },
        permissions: [{ tool: 'bash', pattern: 'touch *', action: 'ask' }],
      },
    })
    const { status_message, attempt } = await api.until(run_id, ({ state }) => state === 'BLOCKED')
    assert(status_message?.approval, status_message?.message)
    asking[harness] = { run_id, approval: status_message.approval, attempt }
  }
  await says(change.run_id, 'ready')

  await kill()
  // What is cloned from now on is another one.
  writeFileSync(join(place, 'repo/later'), '')
  git(join(place, 'repo'), 'add', 'later')
  git(join(place, 'repo'), 'commit', '--quiet', '-m', 'later')
  await start()
})
after(async () => {
  await service?.stop()
  await model?.close()
})

describe('changes', () => {
  test('survive the service: the base is what was cloned first', async () => {
    const { run_id, base_commit } = change
    await api.until(run_id, ({ state, attempt }) => state === 'INPROGRESS' && attempt > 1, 60)
    await api.json('POST', `/agent/runs/${run_id}/interrupt`)
    await api.until(run_id, ({ state }) => state === 'BLOCKED', 60)
    const diff = await api.json<RunDiff>('GET', `/agent/runs/${run_id}/diff`)
    assert.deepEqual(
      [diff.repositories[0]?.base_commit, ...diff.files.map(({ status, path }) => `${status} ${path}`)],
      [base_commit, 'modified file'],
    )
  })
})

describe('approvals', () => {
  test('the service is killed between the question and the answer, and while the call is made', async () => {
    for (const { run_id, approval } of Object.values(asking)) {
      const path = `/agent/runs/${run_id}/approvals/${approval.approval_id}`
      await api.json('POST', path, { decision: 'allow_once' })
    }
    for (const { run_id } of Object.values(asking)) await says(run_id, 'begun')
    await kill()
    const last = await startService({ ...options(), embedded: true })
    service = last
    api = apiOf(last)
    for (const { run_id, attempt } of Object.values(asking)) {
      // The agent was told, and makes the call again that somebody allowed.
      const { state, status_message } = await api.until(
        run_id,
        (run) => run.attempt > attempt + 1 && !['QUEUED', 'CLAIMED', 'INPROGRESS'].includes(run.state),
      )
      assert.equal(state, 'SUCCEEDED', status_message?.message)
      const events = await api.events(run_id)
      assert.match(printed(events), /begun\nmade\n/)
      assert.equal(ofType(events, 'approval.requested').length, 1)
    }
  })
})
