/** A good request of each operation, and the things that they are about. */
import type { OperationId } from '../../src/contract/routes.ts'
import { serveGitHost } from './git-hosts.ts'
import { addHostedRepository } from './hosted-repositories.ts'
import { type ModelServer, openModelServer } from './model-server.ts'
import { apiOf, shell, startService, type TestService, temporaryDirectory } from './service.ts'

export const IDLE = { config: { worker_host: 'nobody' } }
const RUNBOOK = { config: { harness: { type: 'runbook' } } }
const TOKEN = 'a-token-of-the-host'
const YEARLY = { name: 's', cron_schedule: '0 0 1 1 *', prompt: 'x' }
export const POSTED = {
  ...{ name: 't', verification: 'gitlab', secret: 'a-good-token', prompt: 'x' },
  agent_config: { worker_host: 'nobody' },
}

/** Of each operation a good request; a new operation without one does not compile. */
export const GOOD: Record<OperationId, { path?: string; body?: unknown }> = {
  createRun: { body: { prompt: 'x', ...IDLE } },
  runAgent: { body: { prompt: 'x', ...IDLE } },
  listRuns: {},
  getRun: { path: '/agent/runs/{run}' },
  submitFollowup: { path: '/agent/runs/{busy}/followups', body: { message: 'x' } },
  cancelRun: { path: '/agent/runs/{cancelled}/cancel', body: {} },
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
  getConversation: { path: '/agent/conversations/{run}' },
  checkConversationRedirect: { path: '/agent/conversations/{run}/redirect' },
  checkSessionRedirect: { path: '/agent/sessions/{run}/redirect' },
  listHandoffAttachments: { path: '/agent/runs/{run}/handoff/attachments' },
  getTranscript: { path: '/agent/runs/{run}/transcript' },
  getArtifact: { path: '/agent/artifacts/{artifact}' },
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
  listFirings: { path: '/agent/schedules/{schedule}/firings' },
  deleteSchedule: { path: '/agent/schedules/{schedule}' },
  createTrigger: { body: POSTED },
  listTriggers: {},
  getTrigger: { path: '/agent/triggers/{trigger}' },
  updateTrigger: { path: '/agent/triggers/{trigger}', body: { ...POSTED, enabled: true } },
  pauseTrigger: { path: '/agent/triggers/{trigger}/pause' },
  resumeTrigger: { path: '/agent/triggers/{trigger}/resume', body: {} },
  listTriggerDeliveries: { path: '/agent/triggers/{trigger}/deliveries' },
  replayTriggerDelivery: { path: '/agent/triggers/{trigger}/deliveries/{received}/replay', body: {} },
  deleteTrigger: { path: '/agent/triggers/{spare_trigger}' },
  createWebhook: { body: { url: 'https://receiver.invalid/' } },
  listWebhooks: {},
  getWebhook: { path: '/agent/webhooks/{webhook}' },
  updateWebhook: { path: '/agent/webhooks/{webhook}', body: { url: 'https://receiver.invalid/' } },
  deleteWebhook: { path: '/agent/webhooks/{spare_webhook}' },
  rotateWebhookSecret: { path: '/agent/webhooks/{webhook}/rotate-secret', body: {} },
  listWebhookDeliveries: { path: '/agent/webhooks/{webhook}/deliveries' },
  redeliverWebhook: { path: '/agent/webhooks/{webhook}/deliveries/{delivery}/redeliver', body: {} },
}

export interface Scene {
  service: TestService
  /** Ids, by the words that stand for them in paths. */
  words: Record<string, string>
  /** The path with ids in the place of words. */
  fill(path: string): string
  stop(): Promise<void>
}

/** `dev` with one of everything. */
export async function openScene(): Promise<Scene> {
  const model: ModelServer = await openModelServer([
    { calls: [{ name: 'bash', arguments: { command: 'true' } }] },
  ])
  const root = temporaryDirectory('hosted')
  addHostedRepository(root, 'acme/site')
  const host = await serveGitHost({ root, kind: 'github', token: TOKEN })
  const service = await startService({
    env: {
      ...{ OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'a-key' },
      ...{ NODE_EXTRA_CA_CERTS: host.ca_file, RUNYARD_PRIVATE_HOSTS: host.host },
      ...{ RUNYARD_GIT_HOSTS: `${host.host}=github`, RUNYARD_GIT_TOKEN: `https://${TOKEN}@${host.host}` },
    },
  })
  const words = await makeThings(service)
  words.opened = await openPullRequest(service, `${host.url}/acme/site`)
  return {
    ...{ service, words },
    fill: (path) => path.replace(/\{(\w+)\}/g, (whole, word: string) => words[word] ?? whole),
    async stop() {
      await service.stop()
      await model.close()
      host.close()
    },
  }
}

/** A run that opened one. */
async function openPullRequest(service: TestService, url: string): Promise<string> {
  const api = apiOf(service)
  const { uid } = await api.json<{ uid: string }>('POST', '/agent/environments', {
    ...{ name: 'site', repositories: [{ url }], on_success: 'pull_request', merge_method: 'squash' },
  })
  const run_id = await api.create({
    prompt: shell('echo x > x'),
    config: { ...RUNBOOK.config, environment_id: uid },
  })
  await api.ended(run_id, 60)
  return run_id
}

async function makeThings(service: TestService): Promise<Record<string, string>> {
  const words: Record<string, string> = {}
  const made = apiOf(service)
  for (const name of ['webhook', 'spare_webhook']) {
    const target = { url: 'https://receiver.invalid/' }
    words[name] = (await made.json<{ webhook_id: string }>('POST', '/agent/webhooks', target)).webhook_id
  }
  for (const name of ['trigger', 'spare_trigger'])
    words[name] = (await made.json<{ trigger_id: string }>('POST', '/agent/triggers', POSTED)).trigger_id
  const posted = await fetch(new URL(`/hooks/${words.trigger}`, service.base_url), {
    ...{ method: 'POST', body: '{}', headers: { 'x-gitlab-token': POSTED.secret } },
  })
  words.received = ((await posted.json()) as { delivery_id: string }).delivery_id
  const run_id = await made.create({ prompt: shell('echo x > artifacts/x'), ...RUNBOOK })
  const { deliveries } = await made.json<{ deliveries: Array<{ delivery_id: string }> }>(
    'GET',
    `/agent/webhooks/${words.webhook}/deliveries`,
  )
  words.delivery = String(deliveries[0]?.delivery_id)
  words.run = run_id
  const share_links = `/agent/runs/${run_id}/share-links`
  const shared = await made.json<{ share_link_id: string }>('POST', share_links, {})
  words.share_link = shared.share_link_id
  const busy = await made.create({ prompt: shell('sleep 600'), ...RUNBOOK })
  const permissions = [{ tool: 'bash', action: 'ask' }]
  words.waiting = await made.create({ prompt: 'Begin.', config: { permissions } })
  words.busy = busy
  words.cancelled = await made.create({ prompt: 'x', ...IDLE })
  for (const name of ['environment', 'spare'])
    words[name] = (await made.json<{ uid: string }>('POST', '/agent/environments', { name })).uid
  words.schedule = (await made.json<{ id: string }>('POST', '/agent/schedules', YEARLY)).id
  for (const name of ['identity', 'spare_identity'])
    words[name] = (await made.json<{ uid: string }>('POST', '/agent/identities', { name })).uid
  for (const name of ['key', 'spare_key'])
    words[name] = (await made.json<{ key_id: string }>('POST', '/api-keys', { name })).key_id
  const guest = { name: 'guest', new_user: true }
  words.person = (await made.json<{ principal: { uid: string } }>('POST', '/api-keys', guest)).principal.uid
  const [artifact] = (await made.ended(run_id)).artifacts
  words.artifact = String(artifact && 'artifact_uid' in artifact.data && artifact.data.artifact_uid)
  await made.until(busy, (run) => run.state === 'INPROGRESS')
  const { status_message } = await made.until(words.waiting, (run) => run.state === 'BLOCKED')
  words.approval = String(status_message?.approval?.approval_id)
  return words
}
