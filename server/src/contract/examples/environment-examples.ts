import { LAST_PAGE, LENA, TEAM } from './people.ts'
import { ENVIRONMENT_ID, RUN_ID } from './run-examples.ts'

const config = {
  name: 'shop',
  docker_image: 'node:24-bookworm',
  repositories: [{ url: 'https://github.com/acme/shop' }],
  setup_commands: ['npm ci'],
  secrets: [{ name: 'GITHUB_TOKEN' }, { name: 'NPM_TOKEN' }],
  on_success: 'pull_request',
  merge_method: 'squash',
  egress: 'allowlist',
  allowed_hosts: ['api.stripe.com'],
} as const

const environment = {
  uid: ENVIRONMENT_ID,
  config,
  created_at: '2026-11-02T13:20:45.871Z',
  last_updated: '2026-11-18T08:02:10.334Z',
  setup_failed: false,
  last_task_created: {
    ...{ id: RUN_ID, title: 'Fix the failing test', state: 'SUCCEEDED' },
    created_at: '2026-11-24T09:14:02.655Z',
    updated_at: '2026-11-24T09:17:31.204Z',
    started_at: '2026-11-24T09:14:05.117Z',
  },
  last_task_run_timestamp: '2026-11-24T09:14:02.655Z',
  creator: LENA,
  scope: TEAM,
} as const

const path = { environment_id: 'shop' }

const GITHUB = { host: 'github.com', repositories: ['acme/*'] }

const secret = {
  name: 'GITHUB_TOKEN',
  scope: TEAM,
  git: GITHUB,
  version: 3,
  restricted: false,
  created_at: '2026-11-02T13:18:31.006Z',
  last_updated: '2026-11-20T15:47:12.590Z',
  creator: LENA,
} as const

const name = { name: secret.name }

export const ENVIRONMENT_EXAMPLES = {
  listEnvironments: {
    client: 'environments.list',
    answer: { environments: [environment], page_info: LAST_PAGE },
  },
  createEnvironment: { client: 'environments.create', body: config, answer: environment },
  getEnvironment: { client: 'environments.retrieve', path, answer: environment },
  updateEnvironment: { client: 'environments.update', path, body: config, answer: environment },
  deleteEnvironment: { client: 'environments.delete', path, answer: environment },
  listSecrets: { client: 'secrets.list', answer: { secrets: [secret], page_info: LAST_PAGE } },
  putSecret: {
    client: 'secrets.put',
    path: name,
    body: { value: 'github_pat_11AB0example', git: GITHUB },
    answer: secret,
  },
  getSecret: { client: 'secrets.get', path: name, answer: secret },
  deleteSecret: { client: 'secrets.delete', path: name, answer: secret },
  listSkills: {
    client: 'skills.list',
    query: { repo: 'acme/shop' },
    answer: {
      agents: [
        {
          name: 'release-notes',
          variants: [
            {
              id: 'acme/shop:.agents/skills/release-notes/SKILL.md',
              base_prompt: 'Write the notes of a release from the commits since the last tag.',
              description: 'Writes the notes of a release.',
              environments: [{ name: 'shop', uid: ENVIRONMENT_ID }],
              source: {
                owner: 'acme',
                name: 'shop',
                skill_path: '.agents/skills/release-notes/SKILL.md',
              },
              last_run_timestamp: '2026-11-21T16:30:00.412Z',
            },
          ],
        },
      ],
    },
  },
  listModels: {
    client: 'models.list',
    answer: {
      models: [
        {
          id: 'anthropic/claude-sonnet-4-5',
          provider: 'ANTHROPIC',
          vision_supported: true,
          display_name: 'Claude Sonnet 4.5',
          context_window: 200_000,
          prices: { input: 3, output: 15, cached_input: 0.3 },
        },
        {
          id: 'local/qwen3-coder-30b',
          provider: 'UNKNOWN',
          vision_supported: false,
          display_name: 'qwen3-coder-30b',
        },
      ],
      default_model_id: 'anthropic/claude-sonnet-4-5',
    },
  },
} as const
