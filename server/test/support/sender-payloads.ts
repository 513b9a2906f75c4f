/** What senders post, in their own shapes: small payloads of each kind that they document, written for tests. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { TriggerVerification } from '../../src/contract/trigger.ts'

export interface Sample {
  /** As the sender names its kind. */
  event: string
  payload: Record<string, unknown>
  /** A form in place of JSON: its one field, or all of them. */
  form?: 'payload' | 'fields'
}

const EXAMPLES = new URL(
  '../../../test/tools/node_modules/@octokit/webhooks-examples/api.github.com/index.json',
  import.meta.url,
)

/** GitHub's own examples, of every event and action. */
export function githubSamples(): Sample[] {
  const events = JSON.parse(readFileSync(fileURLToPath(EXAMPLES), 'utf8')) as Array<{
    name: string
    examples: Array<Record<string, unknown>>
  }>
  return events.flatMap(({ name, examples }) => examples.map((payload) => ({ event: name, payload })))
}

const project = {
  id: 1,
  name: 'Site',
  web_url: 'https://gitlab.example/acme/site',
  path_with_namespace: 'acme/site',
}
const user = { id: 7, name: 'Ann', username: 'ann' }
const gitlab = (event: string, object_kind: string, more: object = {}): Sample => ({
  event,
  payload: { object_kind, project, user, ...more },
})
const issue = {
  id: 3,
  iid: 12,
  title: 'Broken',
  description: null,
  url: 'https://gitlab.example/acme/site/-/issues/12',
}
const merge = {
  id: 4,
  iid: 5,
  source_branch: 'fix',
  target_branch: 'main',
  url: `${project.web_url}/-/merge_requests/5`,
  action: 'open',
}

const GITLAB: Sample[] = [
  gitlab('Push Hook', 'push', {
    ref: 'refs/heads/main',
    before: '0'.repeat(40),
    after: 'a'.repeat(40),
    commits: [],
    user_id: 7,
  }),
  gitlab('Tag Push Hook', 'tag_push', { ref: 'refs/tags/v1', checkout_sha: null }),
  gitlab('Issue Hook', 'issue', {
    object_attributes: { ...issue, action: 'open' },
    labels: [{ title: 'agent' }],
    changes: {},
  }),
  gitlab('Confidential Issue Hook', 'issue', { object_attributes: { ...issue, confidential: true } }),
  gitlab('Note Hook', 'note', {
    object_attributes: { note: 'Look', noteable_type: 'MergeRequest', url: `${merge.url}#note_1` },
    merge_request: merge,
  }),
  gitlab('Note Hook', 'note', {
    object_attributes: { note: 'Look', noteable_type: 'Snippet', url: null },
    snippet: { id: 1 },
  }),
  gitlab('Merge Request Hook', 'merge_request', {
    object_attributes: { ...merge, last_commit: { id: 'b'.repeat(40) } },
    assignees: [],
    reviewers: null,
  }),
  gitlab('Merge Request Hook', 'merge_request', {
    object_attributes: { ...merge, action: 'update', oldrev: 'c'.repeat(40), last_commit: null },
  }),
  gitlab('Pipeline Hook', 'pipeline', {
    object_attributes: { id: 31, status: 'failed', stages: ['build'], duration: 1.5 },
    builds: [],
    merge_request: null,
  }),
  gitlab('Job Hook', 'build', {
    build_id: 9,
    build_status: 'failed',
    runner: null,
    commit: { author_url: null },
  }),
  gitlab('Wiki Page Hook', 'wiki_page', {
    wiki: {},
    object_attributes: { slug: 'home', action: 'create', content: 'x' },
  }),
  gitlab('Deployment Hook', 'deployment', {
    status: 'success',
    environment: 'production',
    deployable_id: null,
  }),
  gitlab('Release Hook', 'release', { action: 'create', tag: 'v1', assets: { links: [], count: 0 } }),
  gitlab('Feature Flag Hook', 'feature_flag', { object_attributes: { name: 'x', active: true } }),
  gitlab('Emoji Hook', 'emoji', { event_type: 'award', object_attributes: { name: 'thumbsup' } }),
  gitlab('Member Hook', 'access_request', { event_name: 'user_access_request_to_group' }),
  gitlab('Subgroup Hook', 'subgroup', { event_name: 'subgroup_create', full_path: 'acme/new' }),
  gitlab('Resource Access Token Hook', 'access_token', { object_attributes: { expires_at: '2026-01-01' } }),
  gitlab('Vulnerability Hook', 'vulnerability', { object_attributes: { severity: 'high', identifiers: [] } }),
  {
    event: 'System Hook',
    payload: { event_name: 'project_create', name: 'Site', owners: [user], project_id: 1 },
  },
]

const slackEvent = (type: string, event: object): Sample => ({
  event: type,
  payload: {
    ...{
      token: 'x',
      team_id: 'T1',
      api_app_id: 'A1',
      type: 'event_callback',
      event_id: `Ev-${type}-${JSON.stringify(event).length}`,
    },
    ...{ event_time: 1_700_000_000, authorizations: [{ enterprise_id: null, team_id: 'T1', is_bot: true }] },
    event: { type, event_ts: '1700000000.000100', ...event },
  },
})

const SLACK: Sample[] = [
  slackEvent('app_mention', { user: 'U1', text: '<@U2> fix it', channel: 'C1', ts: '1700000000.000100' }),
  slackEvent('message', {
    channel_type: 'im',
    user: 'U1',
    text: 'hello',
    blocks: [{ type: 'rich_text', elements: [] }],
  }),
  slackEvent('message', {
    subtype: 'message_changed',
    hidden: true,
    message: { text: 'now' },
    previous_message: { text: 'before' },
  }),
  slackEvent('message', { subtype: 'bot_message', bot_id: 'B1', text: '' }),
  slackEvent('reaction_added', {
    user: 'U1',
    reaction: 'eyes',
    item: { type: 'message', channel: 'C1', ts: '1.2' },
  }),
  slackEvent('app_home_opened', { user: 'U1', tab: 'home' }),
  slackEvent('link_shared', { links: [{ domain: 'example.com', url: 'https://example.com' }] }),
  slackEvent('member_joined_channel', { user: 'U1', channel: 'C1' }),
  slackEvent('file_shared', { file_id: 'F1', file: { id: 'F1' } }),
  {
    event: 'app_rate_limited',
    payload: { token: 'x', type: 'app_rate_limited', team_id: 'T1', minute_rate_limited: 1_700_000_000 },
  },
  {
    event: 'block_actions',
    form: 'payload',
    payload: { type: 'block_actions', user: { id: 'U1' }, actions: [{ action_id: 'go', value: 'a&b=c' }] },
  },
  {
    event: 'view_submission',
    form: 'payload',
    payload: { type: 'view_submission', view: { state: { values: {} } } },
  },
  {
    event: 'message_action',
    form: 'payload',
    payload: { type: 'message_action', callback_id: 'fix', message: { text: 'ä+b' } },
  },
  { event: 'shortcut', form: 'payload', payload: { type: 'shortcut', callback_id: 'new' } },
  {
    event: '/fix',
    form: 'fields',
    payload: {
      command: '/fix',
      text: 'the größe & more',
      user_id: 'U1',
      trigger_id: '1.2',
      response_url: 'https://example.com/r',
    },
  },
]

const linear = (event: string, action: string, data: object = {}, more: object = {}): Sample => ({
  event,
  payload: {
    ...{ action, type: event, createdAt: '2026-01-01T00:00:00.000Z', organizationId: 'o1', webhookId: 'w1' },
    ...{
      url: 'https://linear.app/acme/issue/ACM-1',
      data: { id: 'd1', ...data },
      webhookTimestamp: Date.now(),
      ...more,
    },
  },
})

const LINEAR: Sample[] = [
  linear('Issue', 'create', {
    title: 'Broken',
    description: null,
    number: 1,
    labels: [{ name: 'agent' }],
    assignee: null,
  }),
  linear(
    'Issue',
    'update',
    { title: 'Broken' },
    { updatedFrom: { stateId: 's1', updatedAt: '2026-01-01T00:00:00.000Z' } },
  ),
  linear('Issue', 'remove'),
  linear('Comment', 'create', { body: 'Fix this', issue: { id: 'i1', title: 'Broken' } }),
  ...[
    'IssueLabel',
    'Attachment',
    'Reaction',
    'Project',
    'ProjectUpdate',
    'Cycle',
    'Document',
    'Initiative',
    'Customer',
    'User',
  ].map((event) => linear(event, 'create', { name: 'x' })),
  linear('IssueSLA', 'set', {}, { issueData: { id: 'i1' } }),
  linear('OAuthApp', 'revoked', {}, { oauthClientId: 'c1' }),
  linear(
    'AppUserNotification',
    'issueAssignedToYou',
    {},
    { notification: { type: 'issueAssignedToYou', issue: { id: 'i1' } } },
  ),
  linear(
    'AgentSessionEvent',
    'created',
    {},
    { agentSession: { id: 's1', issue: { title: 'Broken' } }, guidance: null },
  ),
]

export const SAMPLES: Partial<Record<TriggerVerification, readonly Sample[]>> = {
  gitlab: GITLAB,
  slack: SLACK,
  linear: LINEAR,
}

/** The body of a sample, and how it is called. */
export function bodyOf({ payload, form }: Sample): { body: string; content_type: string } {
  const json = JSON.stringify(payload)
  if (form === undefined) return { body: json, content_type: 'application/json' }
  const fields = Object.entries(payload).map(([name, value]): [string, string] => [name, String(value)])
  const body = new URLSearchParams(form === 'payload' ? { payload: json } : fields).toString()
  return { body, content_type: 'application/x-www-form-urlencoded' }
}
