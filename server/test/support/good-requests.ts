/** A good request of each operation, and the things that they are about. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { after, before } from 'node:test'
import tls from 'node:tls'
import { FileIndexWriter } from '../../src/archives/file-index-writer.ts'
import type { OperationId } from '../../src/contract/routes.ts'
import type { Lease } from '../../src/store/leases.ts'
import { recordPush } from '../../src/store/pushes.ts'
import { recordReference } from '../../src/store/run-references.ts'
import { insertSnapshot, readMoment } from '../../src/store/snapshots.ts'
import { recordTurnEnd } from '../../src/store/turn-ends.ts'
import { type Face, onFace } from './face.ts'
import { git } from './git.ts'
import { type GitHost, serveGitHost } from './git-hosts.ts'
import { addHostedRepository } from './hosted-repositories.ts'
import { temporaryDirectory } from './service.ts'

export const IDLE = { config: { worker_host: 'nobody' } }
const TOKEN = 'a-token-of-the-host'
const TICKET = 'https://tickets.example/1'
const YEARLY = { name: 's', cron_schedule: '0 0 1 1 *', prompt: 'x' }
/** A picture of one pixel. */
export const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
export const POSTED = {
  ...{ name: 't', verification: 'gitlab', secret: 'a-good-token', prompt: 'x' },
  agent_config: { worker_host: 'nobody' },
}

/** Of each operation a good request; a new operation without one does not compile. */
const FILES = { attachments: [{ file_name: 'a.txt', mime_type: 'text/plain' }] }

export const GOOD: Record<OperationId, { path?: string; body?: unknown }> = {
  createRun: { body: { prompt: 'x', ...IDLE } },
  runAgent: { body: { prompt: 'x', ...IDLE } },
  listRuns: {},
  getRun: { path: '/agent/runs/{run}' },
  submitFollowup: { path: '/agent/runs/{busy}/followups', body: { message: 'x' } },
  prepareRunAttachments: { path: '/agent/runs/{run}/attachments/prepare', body: FILES },
  prepareConversationAttachments: { path: '/agent/conversations/{run}/attachments/prepare', body: FILES },
  cancelRun: { path: '/agent/runs/{cancelled}/cancel', body: {} },
  updateRun: { path: '/agent/runs/{run}', body: { title: 'Renamed' } },
  deleteRun: { path: '/agent/runs/{spare_run}?cancel=true' },
  deleteRuns: { body: { q: 'nowhere', dry_run: true } },
  archiveRun: { path: '/agent/runs/{run}/archive', body: {} },
  unarchiveRun: { path: '/agent/runs/{run}/unarchive', body: {} },
  answerApproval: {
    path: '/agent/runs/{waiting}/approvals/{approval}',
    body: { decision: 'deny' },
  },
  interruptRun: { path: '/agent/runs/{busy}/interrupt', body: {} },
  listEvents: { path: '/agent/runs/{run}/events' },
  streamEvents: { path: '/agent/events/stream?run_ids={cancelled}' },
  getRunConversation: { path: '/agent/runs/{run}/conversation' },
  getRunDiff: { path: '/agent/runs/{run}/diff' },
  listPullRequests: { path: '/agent/runs/{run}/pull-requests' },
  mergePullRequest: { path: '/agent/runs/{opened}/merge', body: {} },
  getRunTimeline: { path: '/agent/runs/{run}/timeline' },
  getHarnessUsage: { path: '/agent/runs/{run}/harness-usage' },
  findRunByReference: { path: `/agent/run-by-external-reference?url=${TICKET}` },
  getEgressRanges: {},
  getConversation: { path: '/agent/conversations/{run}' },
  submitConversationFollowup: { path: '/agent/conversations/{busy}/followups', body: { message: 'x' } },
  interruptConversation: { path: '/agent/conversations/{busy}/interrupt', body: {} },
  getConversationTranscript: { path: '/agent/conversations/{run}/transcript' },
  downloadConversationScreenshot: {
    path: '/agent/conversations/{run}/screenshots/{screenshot}/download',
  },
  checkConversationRedirect: { path: '/agent/conversations/{run}/redirect' },
  checkSessionRedirect: { path: '/agent/sessions/{run}/redirect' },
  listWorkspaceFiles: { path: '/agent/runs/{run}/files' },
  getWorkspaceFile: { path: '/agent/runs/{run}/file?path=x' },
  listHandoffAttachments: { path: '/agent/runs/{run}/handoff/attachments' },
  getTranscript: { path: '/agent/runs/{run}/transcript' },
  getArtifact: { path: '/agent/artifacts/{artifact}' },
  downloadArtifact: { path: '/agent/artifacts/{artifact}/download' },
  listSkills: {},
  listModels: {},
  createApiKey: { body: { name: 'k' } },
  listApiKeys: {},
  rotateApiKey: { path: '/api-keys/{key}/rotate', body: {} },
  revokeApiKey: { path: '/api-keys/{spare_key}' },
  getUsage: { path: '/agent/usage?time_zone=Europe/Berlin' },
  createShareLink: { path: '/agent/runs/{run}/share-links', body: { name: 'l' } },
  listShareLinks: { path: '/agent/runs/{run}/share-links' },
  revokeShareLink: { path: '/agent/runs/{run}/share-links/{share_link}' },
  listPrincipals: {},
  listPools: {},
  listWorkers: {},
  getQueue: {},
  listRepositories: {},
  listBranches: { path: '/agent/repositories/branches?repository=acme/site' },
  listSettings: {},
  disablePrincipal: { path: '/principals/{person}/disable', body: {} },
  enablePrincipal: { path: '/principals/{person}/enable', body: {} },
  createSignInLink: { body: { path: '/runs' } },
  createAgentIdentity: { body: { name: 'i' } },
  listAgentIdentities: {},
  getAgentIdentity: { path: '/agent/identities/{identity}' },
  updateAgentIdentity: { path: '/agent/identities/{identity}', body: { description: 'changed' } },
  deleteAgentIdentity: { path: '/agent/identities/{spare_identity}' },
  getGrants: { path: '/agent/grants?resource_type=pool&resource_id=p' },
  putGrants: { body: { resource_type: 'pool', resource_id: 'p', principal_ids: [] } },
  listAuditLog: {},
  listEnvironments: {},
  createEnvironment: { body: { name: 'e' } },
  getEnvironment: { path: '/agent/environments/{environment}' },
  listSecrets: {},
  putSecret: { path: '/agent/secrets/GOOD', body: { value: 'a good value' } },
  getSecret: { path: '/agent/secrets/GOOD' },
  deleteSecret: { path: '/agent/secrets/GOOD' },
  updateEnvironment: { path: '/agent/environments/{environment}', body: { name: 'changed' } },
  deleteEnvironment: { path: '/agent/environments/{spare}' },
  listSchedules: {},
  createSchedule: { body: YEARLY },
  getSchedule: { path: '/agent/schedules/{schedule}' },
  updateSchedule: { path: '/agent/schedules/{schedule}', body: { ...YEARLY, enabled: true } },
  pauseSchedule: { path: '/agent/schedules/{schedule}/pause' },
  resumeSchedule: { path: '/agent/schedules/{schedule}/resume', body: {} },
  listScheduleTimes: { path: '/agent/schedule-times?cron_schedule=0%209%20*%20*%20*' },
  runSchedule: { path: '/agent/schedules/{schedule}/run', body: {} },
  listFirings: { path: '/agent/schedules/{schedule}/firings' },
  deleteSchedule: { path: '/agent/schedules/{schedule}' },
  createTrigger: { body: POSTED },
  listTriggers: {},
  getTrigger: { path: '/agent/triggers/{trigger}' },
  updateTrigger: { path: '/agent/triggers/{trigger}', body: { ...POSTED, enabled: true } },
  pauseTrigger: { path: '/agent/triggers/{trigger}/pause' },
  resumeTrigger: { path: '/agent/triggers/{trigger}/resume', body: {} },
  tryTrigger: { path: '/agent/triggers/{trigger}/try', body: {} },
  listTriggerDeliveries: { path: '/agent/triggers/{trigger}/deliveries' },
  replayTriggerDelivery: { path: '/agent/triggers/{trigger}/deliveries/{received}/replay', body: {} },
  deleteTrigger: { path: '/agent/triggers/{spare_trigger}' },
  createWebhook: { body: { url: 'https://receiver.invalid/' } },
  listWebhooks: {},
  getWebhook: { path: '/agent/webhooks/{webhook}' },
  updateWebhook: { path: '/agent/webhooks/{webhook}', body: { url: 'https://receiver.invalid/' } },
  deleteWebhook: { path: '/agent/webhooks/{spare_webhook}' },
  rotateWebhookSecret: { path: '/agent/webhooks/{webhook}/rotate-secret', body: {} },
  testWebhook: { path: '/agent/webhooks/{webhook}/test', body: {} },
  listWebhookDeliveries: { path: '/agent/webhooks/{webhook}/deliveries' },
  redeliverWebhook: { path: '/agent/webhooks/{webhook}/deliveries/{delivery}/redeliver', body: {} },
}

export interface Scene {
  face: Face
  /** The path with ids in the place of words. */
  fill(path: string): string
}

/** Registers what is asked of the HTTP face when there is one of everything. */
export function onScene(name: string, body: (scene: () => Scene) => void): void {
  const root = temporaryDirectory('hosted')
  const trusted = tls.getCACertificates()
  let host: GitHost | undefined
  let scene: Scene | undefined
  const openHost = async () => {
    host = await serveGitHost({ root, kind: 'github', token: TOKEN })
    tls.setDefaultCACertificates([...trusted, readFileSync(host.ca_file, 'utf8')])
    return { RUNYARD_PRIVATE_HOSTS: host.host, RUNYARD_GIT_HOSTS: `${host.host}=github` }
  }
  onFace(
    name,
    (face) => {
      before(async () => {
        assert(host)
        const words = await makeThings(face())
        words.opened = await openPullRequest(face(), host, addHostedRepository(root, 'acme/site'))
        const fill = (path: string) =>
          path.replace(/\{(\w+)\}/g, (whole, word: string) => words[word] ?? whole)
        scene = { face: face(), fill }
      })
      after(() => {
        host?.close()
        tls.setDefaultCACertificates(trusted)
      })
      body(() => {
        assert(scene)
        return scene
      })
    },
    openHost,
  )
}

/** A run that opened one, at `acme/site`, whose bare repository lies in `folder`. */
async function openPullRequest(
  { admin, store, worker }: Face,
  host: GitHost,
  folder: string,
): Promise<string> {
  await admin.json('PUT', '/agent/secrets/SITE', { value: TOKEN, git: { host: host.host } })
  const { uid } = await admin.json<{ uid: string }>('POST', '/agent/environments', {
    ...{ name: 'site', secrets: ['SITE'], merge_method: 'squash' },
  })
  const config = { worker_host: worker.pool, environment_id: uid }
  const run_id = await admin.create({ prompt: 'x', config })
  const commit = git(folder, 'commit-tree', 'feature^{tree}', '-p', 'main', '-m', 'x')
  const branch = `runyard/${run_id}`
  git(folder, 'update-ref', `refs/heads/${branch}`, commit)
  const pull = { repository: 'acme/site', number: 1, title: 'x', body: '', head: branch, base: 'main' }
  host.pulls.push({ ...pull, draft: false, open: true })
  const lease = await worker.start(run_id)
  const url = `${host.url}/acme/site/pull/1`
  assert(
    await recordPush(store.db, lease, {
      ...{ artifact_uid: randomUUID(), directory: 'site', repository: `${host.host}/acme/site` },
      ...{ branch, commit, url, pull_request: { number: 1, url } },
    }),
  )
  await worker.end(lease)
  return run_id
}

/** Ids, by the words that stand for them in paths. */
async function makeThings(face: Face): Promise<Record<string, string>> {
  const { admin, fetch, origin, store, worker } = face
  const words: Record<string, string> = {}
  const made = async (path: string, body: object): Promise<Record<string, string>> =>
    admin.json('POST', path, body)
  for (const name of ['webhook', 'spare_webhook'])
    words[name] = (await made('/agent/webhooks', { url: 'https://receiver.invalid/' })).webhook_id ?? ''
  for (const name of ['trigger', 'spare_trigger'])
    words[name] = (await made('/agent/triggers', POSTED)).trigger_id ?? ''
  const posted = await fetch(`${origin}/hooks/${words.trigger}`, {
    ...{ method: 'POST', body: '{}', headers: { 'x-gitlab-token': POSTED.secret } },
  })
  words.received = ((await posted.json()) as { delivery_id: string }).delivery_id

  const config = { worker_host: worker.pool }
  words.run = await admin.create({ prompt: 'x', config })
  const { deliveries } = await admin.json<{ deliveries: Array<{ delivery_id: string }> }>(
    'GET',
    `/agent/webhooks/${words.webhook}/deliveries`,
  )
  words.delivery = String(deliveries[0]?.delivery_id)
  words.share_link = (await made(`/agent/runs/${words.run}/share-links`, {})).share_link_id ?? ''
  const lease = await worker.start(words.run)
  words.artifact = await worker.keep(lease, 'x', 'x\n')
  words.screenshot = await worker.keep(lease, 'x.png', PIXEL)
  const ticket = { artifact_uid: randomUUID(), reference_type: 'TICKET', url: TICKET } as const
  assert(await recordReference(store.db, lease, ticket))
  await keepWorkspace(face, lease)
  await worker.end(lease)
  words.busy = await admin.create({ prompt: 'x', config })
  await worker.start(words.busy)
  words.waiting = await admin.create({ prompt: 'Begin.', config })
  words.approval = await worker.ask(await worker.start(words.waiting))
  words.spare_run = await admin.create({ prompt: 'x', ...IDLE })
  words.cancelled = await admin.create({ prompt: 'x', ...IDLE })

  for (const name of ['environment', 'spare'])
    words[name] = (await made('/agent/environments', { name })).uid ?? ''
  words.schedule = (await made('/agent/schedules', YEARLY)).id ?? ''
  for (const name of ['identity', 'spare_identity'])
    words[name] = (await made('/agent/identities', { name })).uid ?? ''
  for (const name of ['key', 'spare_key']) words[name] = (await made('/api-keys', { name })).key_id ?? ''
  const guest = { name: 'guest', new_user: true }
  words.person = (await admin.json<{ principal: { uid: string } }>('POST', '/api-keys', guest)).principal.uid
  return words
}

/** The workspace at the end of the run's turn, with one file, `x`. */
async function keepWorkspace({ store, blobs }: Face, lease: Lease): Promise<void> {
  const [snapshot_id, folder] = [randomUUID(), `runs/${lease.run_id}`]
  const index_blob_key = `${folder}/indexes/${snapshot_id}`
  const index = new FileIndexWriter(blobs, index_blob_key)
  index.add({ path: 'workspace/x', type: '0', mode: 0o644, size: 2, offset: 512, target: '' })
  await index.end()
  const moment = await readMoment(store.db, lease)
  assert(moment)
  await insertSnapshot(store.db, lease, {
    ...{ ...moment, snapshot_id, folders: ['workspace'], commits: {}, backend: 'host', sandbox_id: 'x' },
    ...{ image: null, stamp: null, blob_key: `${folder}/snapshots/${snapshot_id}`, index_blob_key },
    ...{ size_bytes: 1, expanded_bytes: 1_024, entries: 1, sha256: 'x' },
  })
  await recordTurnEnd(store.db, lease, { snapshot_id })
}
