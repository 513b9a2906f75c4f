import { KEY_ID, LAST_PAGE, LENA, PATCHER, SERVICE } from './people.ts'
import { ENVIRONMENT_ID, RUN_ID } from './run-examples.ts'

const key = {
  key_id: KEY_ID,
  name: 'CI of the shop',
  role: 'member',
  masked: 'ry_A3It…rNCv',
  principal: LENA,
  active: true,
  created_at: '2026-11-02T13:05:19.640Z',
  expires_at: '2027-05-01T00:00:00.000Z',
  last_used_at: '2026-11-24T09:14:00.000Z',
} as const
const api_key = 'ry_A3ItKXe5YacphwW7EFRAyDwIdNNkp5UjYhxVOYg03LrNCv'

const person = {
  uid: LENA.uid,
  display_name: LENA.display_name,
  disabled: false,
  keys: 2,
  role: 'admin',
  last_used_at: '2026-11-24T09:14:00.000Z',
  created_at: '2026-11-02T13:01:07.318Z',
} as const

const identity = {
  uid: PATCHER,
  name: 'patcher',
  available: true,
  description: 'Opens the pull requests of the shop.',
  environment_id: ENVIRONMENT_ID,
  skills: [],
  agent_type: 'CUSTOM',
  credential_strategy: 'EXECUTOR',
  on_behalf_of_enabled: false,
  default_runner_uid: '',
  secrets: [],
  memory: { attached_stores: [], auto_memory: { enabled: false } },
  creator: LENA,
  created_at: '2026-11-02T13:31:54.902Z',
  updated_at: '2026-11-18T08:04:41.117Z',
} as const

const grants = {
  resource_type: 'environment',
  resource_id: ENVIRONMENT_ID,
  restricted: true,
  grants: [
    {
      principal: { uid: PATCHER, type: 'service_account', display_name: 'patcher' },
      granted_by: LENA,
      created_at: '2026-11-18T08:06:02.845Z',
    },
  ],
} as const

const share_link = {
  share_link_id: '01a20b40-52d7-7c8f-9b61-e07d3a4f2c85',
  run_id: RUN_ID,
  name: 'Review with the bank',
  created_at: '2026-11-24T09:33:17.522Z',
  created_by: LENA,
  expires_at: '2026-12-01T00:00:00.000Z',
} as const

const counts = {
  runs: 128,
  succeeded: 109,
  failed: 11,
  errors: 2,
  cancelled: 4,
  total_tokens: 8_416_230,
  cache_read_tokens: 6_120_000,
  cache_write_tokens: 402_118,
  cost_usd: 31.72,
} as const
const figures = {
  ...counts,
  blocked: 1,
  open: 1,
  run_seconds_p50: 184.2,
  run_seconds_p95: 913.6,
} as const

const ofIdentity = { uid: PATCHER }
const ofKey = { key_id: KEY_ID }
const ofRun = { run_id: RUN_ID }
const described = { description: 'Opens the pull requests of the shop.' }

export const ACCESS_EXAMPLES = {
  createApiKey: {
    client: 'apiKeys.create',
    body: { name: key.name, role: 'member', expires_at: key.expires_at },
    answer: { ...key, api_key },
  },
  listApiKeys: { client: 'apiKeys.list', answer: { api_keys: [key], page_info: LAST_PAGE } },
  rotateApiKey: {
    client: 'apiKeys.rotate',
    path: ofKey,
    body: { grace_minutes: 60 },
    answer: { ...key, key_id: '01a20b4c-d2f6-7441-a9b5-4278f2693852', replaces: KEY_ID, api_key },
  },
  revokeApiKey: {
    client: 'apiKeys.revoke',
    path: ofKey,
    answer: { ...key, active: false, revoked_at: '2026-11-24T10:02:43.192Z' },
  },
  listPrincipals: { client: 'principals.list', answer: { principals: [person], page_info: LAST_PAGE } },
  disablePrincipal: {
    client: 'principals.disable',
    path: { uid: LENA.uid },
    answer: { ...person, disabled: true },
  },
  enablePrincipal: { client: 'principals.enable', path: { uid: LENA.uid }, answer: person },
  listPools: {
    client: 'pools.list',
    answer: {
      pools: [
        {
          ...{ name: 'default', is_default: true, restricted: false, workers: 2, workers_ready: 2 },
          ...{ slots: 16, slots_busy: 5, queued_runs: 0 },
        },
        {
          ...{ name: 'gpu', is_default: false, restricted: true, workers: 1, workers_ready: 1 },
          ...{ slots: 2, slots_busy: 2, queued_runs: 3 },
        },
      ],
      page_info: LAST_PAGE,
    },
  },
  listWorkers: {
    client: 'workers.list',
    answer: {
      workers: [
        {
          ...{ worker_id: '01a20b41-7c1e-4e0b-9d0b-3f2f7a8b5c11', pool: 'default', state: 'ready' },
          ...{ host: 'runner-1', version: '1.4.2', sandbox: 'docker', slots: 8, slots_busy: 1 },
          runs: [{ run_id: RUN_ID, title: 'Fix the failing test', state: 'INPROGRESS' }],
          ...{ started_at: '2026-11-24T08:00:02.117Z', seen_at: '2026-11-24T10:00:41.902Z' },
        },
      ],
      has_more: false,
    },
  },
  listRepositories: {
    client: 'repositories.list',
    query: { query: 'site' },
    answer: {
      repositories: [
        {
          ...{ url: 'https://github.com/acme/site', name: 'acme/site', host: 'github.com' },
          ...{ is_private: true, default_branch: 'main', secret_name: 'GITHUB_TOKEN' },
        },
      ],
      has_more: false,
      notes: [],
    },
  },
  listBranches: {
    client: 'repositories.branches',
    query: { repository: 'https://github.com/acme/site' },
    answer: { default_branch: 'main', branches: ['main', 'next'], notes: [] },
  },
  listSettings: {
    client: 'settings.list',
    answer: {
      version: '1.4.2',
      settings: [
        {
          ...{ name: 'RUNYARD_SLOTS', value: '16', is_set: true, is_secret: false, source: 'environment' },
          ...{ default: '8', meaning: 'runs this worker executes at once' },
        },
        {
          ...{ name: 'ANTHROPIC_API_KEY', value: null, is_set: true, is_secret: true, source: 'environment' },
          ...{ default: '', meaning: 'models of Anthropic' },
        },
      ],
    },
  },
  getQueue: {
    client: 'workers.queue',
    answer: {
      pools: [
        {
          ...{ name: 'gpu', queued_runs: 3, oldest_since: '2026-11-24T09:52:10.004Z' },
          ...{ workers_ready: 1, slots: 2, slots_free: 0 },
        },
      ],
      runs: [
        {
          ...{ run_id: RUN_ID, title: 'Train the ranker', creator: LENA },
          queued_since: '2026-11-24T09:52:10.004Z',
          waiting: {
            ...{
              reason: 'pool_busy',
              message: 'All 2 slots of the pool "gpu" are busy.',
              pool: 'gpu',
              ahead: 0,
            },
          },
        },
      ],
      has_more: false,
    },
  },
  createSignInLink: {
    client: 'signInLinks.create',
    body: { path: `/runs/${RUN_ID}` },
    answer: {
      url: `${SERVICE}/sign-in#token=qP3E4FoiOgjcmbVW32qCb5Te8h-Nbme3UWJQrZfA8xE`,
      expires_at: '2026-11-24T10:05:42.441Z',
    },
  },
  createAgentIdentity: {
    client: 'identities.create',
    body: { name: 'patcher', ...described, environment_id: 'shop' },
    answer: identity,
  },
  listAgentIdentities: {
    client: 'identities.list',
    answer: { agents: [identity], page_info: { has_next_page: false } },
  },
  getAgentIdentity: { client: 'identities.retrieve', path: ofIdentity, answer: identity },
  updateAgentIdentity: { client: 'identities.update', path: ofIdentity, body: described, answer: identity },
  deleteAgentIdentity: {
    client: 'identities.delete',
    path: ofIdentity,
    answer: { ...identity, available: false },
  },
  getGrants: {
    client: 'grants.get',
    query: { resource_type: 'environment', resource_id: 'shop' },
    answer: grants,
  },
  putGrants: {
    client: 'grants.put',
    body: { resource_type: 'environment', resource_id: 'shop', principal_ids: [PATCHER] },
    answer: grants,
  },
  listAuditLog: {
    client: 'auditLog.list',
    query: { action: 'createApiKey', since: '2026-11-01T00:00:00Z' },
    answer: {
      entries: [
        {
          entry_id: '4711',
          occurred_at: '2026-11-02T13:05:19.640Z',
          action: 'createApiKey',
          via: 'http',
          target: KEY_ID,
          principal_id: LENA.uid,
          principal_name: LENA.display_name,
          role: 'admin',
          address: '192.0.2.17',
          request_id: 'f3bc35b5-a628-4696-936a-eb04e971af15',
          status: 201,
        },
      ],
      page_info: LAST_PAGE,
    },
  },
  createShareLink: {
    client: 'shareLinks.create',
    path: ofRun,
    body: { name: share_link.name, expires_at: share_link.expires_at },
    answer: {
      ...share_link,
      url: `${SERVICE}/sessions/${RUN_ID}#access=0csAEb1aBO_T7josRykaqIBUFV7laMTqjYY58GdU01M`,
    },
  },
  listShareLinks: {
    client: 'shareLinks.list',
    path: ofRun,
    answer: { share_links: [share_link], page_info: LAST_PAGE },
  },
  revokeShareLink: {
    client: 'shareLinks.revoke',
    path: { ...ofRun, share_link_id: share_link.share_link_id },
    answer: share_link,
  },
  getUsage: {
    client: 'usage.get',
    query: { from: '2026-11-01T00:00:00Z', time_zone: 'Europe/Berlin' },
    answer: {
      from: '2026-11-01T00:00:00.000Z',
      to: '2026-11-24T10:00:00.000Z',
      time_zone: 'Europe/Berlin',
      totals: figures,
      days: [{ date: '2026-11-24', ...counts }],
      by_agent: [{ agent: 'oz', ...figures }],
      by_model: [{ model_id: 'anthropic/claude-sonnet-4-5', ...figures }],
      by_environment: [{ environment_id: ENVIRONMENT_ID, name: 'shop', ...figures }],
    },
  },
} as const
