import { LAST_PAGE, LENA, SERVICE, TEAM } from './people.ts'

export const RUN_ID = '01a20b2e-6c1f-7c35-a9d4-7e10b8f2c615'
export const ENVIRONMENT_ID = 'FrYCCl2EXy3tJT4a0KcpqD'
export const ARTIFACT_ID = '01a20b31-9d44-7f0e-8c62-5b1a3e97d204'
const SHA256 = '9b2f6d0e4c815a37be20f1d8a46c937501ef8b6ad24c3970815bde62f4a09c13'
const APPROVAL_ID = '01a20b2f-18e7-7b90-93ac-64d02f5e8b71'
const MODEL = 'anthropic/claude-sonnet-4-5'
const PROMPT = 'Totals of the cart are a cent off for some orders. Find out why, fix it and add a test.'

const request = {
  prompt: PROMPT,
  title: 'Fix rounding in the cart',
  config: { environment_id: 'shop', model_id: MODEL },
  budget: { max_cost_usd: 2 },
  metadata: { ticket: 'SHOP-412' },
} as const

const file = { file_name: 'receipt.pdf', mime_type: 'application/pdf' } as const
const UPLOAD_ID = '01a20b2f-e2b4-7c11-9d02-3f6a58c1b7de'
const prepared = {
  body: { attachments: [file] },
  answer: {
    attachments: [
      {
        ...{ attachment_id: UPLOAD_ID, ...file },
        upload_url: `https://runyard.example.com/uploads/attachments/${UPLOAD_ID}?expires=1795513542&key=k1&signature=5f1c`,
        upload_expires_at: '2026-11-24T09:29:02.000Z',
        expires_at: '2026-11-25T09:14:02.655Z',
      },
    ],
  },
} as const

const created = { run_id: RUN_ID, task_id: RUN_ID, state: 'QUEUED', at_capacity: false } as const

const PATCH_FILE = {
  artifact_uid: ARTIFACT_ID,
  filename: 'changes-turn-1.patch',
  filepath: 'changes-turn-1.patch',
  size_bytes: 1874,
}
const CHANGED = { turn: 1, files_changed: 2, additions: 19, deletions: 3 }

const pull_request = {
  url: 'https://github.com/acme/shop/pull/431',
  repository: 'github.com/acme/shop',
  number: 431,
  branch: `runyard/${RUN_ID}`,
  commit: '7d20a6b94e1f83c5d6028b7ae94c1f35b8e07d12',
  title: request.title,
  base: 'main',
  is_draft: false,
  head_commit: '7d20a6b94e1f83c5d6028b7ae94c1f35b8e07d12',
} as const
const PULL_REQUEST = { ...pull_request, state: 'open', mergeable: true, merge_method: 'squash' } as const
const MERGED = { ...pull_request, state: 'merged' } as const

const run = {
  run_id: RUN_ID,
  task_id: RUN_ID,
  title: request.title,
  state: 'SUCCEEDED',
  prompt: PROMPT,
  submitted_prompt: PROMPT,
  debug_agent_available: false,
  created_at: '2026-11-24T09:14:02.655Z',
  updated_at: '2026-11-24T09:17:41.120Z',
  started_at: '2026-11-24T09:14:03.118Z',
  finished_at: '2026-11-24T09:17:41.093Z',
  run_time: 'PT3M37.975S',
  source: 'API',
  creator: LENA,
  executor: LENA,
  session_id: RUN_ID,
  session_link: `${SERVICE}/sessions/${RUN_ID}`,
  agent_config: { environment_id: ENVIRONMENT_ID, model_id: MODEL, worker_host: 'default' },
  resolved: { harness: 'oz', model_id: MODEL },
  conversation_id: RUN_ID,
  root_run_id: RUN_ID,
  metadata: request.metadata,
  artifacts: [
    {
      artifact_type: 'FILE',
      created_at: '2026-11-24T09:17:40.611Z',
      data: { ...PATCH_FILE, mime_type: 'text/x-diff', diff: CHANGED },
    },
    {
      artifact_type: 'PULL_REQUEST',
      created_at: '2026-11-24T09:17:40.982Z',
      data: {
        branch: `runyard/${RUN_ID}`,
        url: 'https://github.com/acme/shop/pull/431',
        status: 'open',
      },
    },
  ],
  request_usage: {
    inference_cost_usd: 0.2184,
    inference_cost: 0.2184,
    compute_cost: 0,
    compute_cost_usd: 0,
    platform_cost: 0,
    platform_cost_usd: 0,
    total_tokens: 61_240,
    input_tokens: 57_902,
    output_tokens: 3_338,
    cache_read_tokens: 41_016,
    cache_write_tokens: 9_204,
    model_token_usage: [
      {
        model_id: 'anthropic/claude-sonnet-5',
        total_tokens: 61_240,
        usage_type: 'warp',
        tokens_by_category: { primary_agent: 61_240 },
      },
    ],
    usage_by_category: {
      primary_agent: {
        platform_usage_in_cents: 0,
        direct_api_inference_usage: {
          'anthropic/claude-sonnet-5': {
            token_count: {
              input: 7_682,
              input_cache_read: 41_016,
              input_cache_write: 9_204,
              output: 3_338,
            },
            cost_in_cents: {
              input_cost_in_cents: 2.3,
              input_cache_read_cost_in_cents: 1.23,
              input_cache_write_cost_in_cents: 13.3,
              output_cost_in_cents: 5.01,
            },
            web_search_count: 0,
            web_search_cost_in_cents: 0,
          },
        },
      },
    },
  },
  scope: TEAM,
  execution_location: 'REMOTE',
  is_sandbox_running: false,
  is_run_type_cancellable: true,
  attempt: 1,
  execution: 1,
} as const

const patch = {
  artifact_uid: ARTIFACT_ID,
  artifact_type: 'FILE',
  created_at: '2026-11-24T09:17:40.611Z',
  data: {
    content_type: 'text/x-diff',
    download_url: `${SERVICE}/downloads/artifacts/${ARTIFACT_ID}?expires=1795512161&key=01a1f3c8-6a02-7be4-b7d1-90c52e1f6a3d&signature=pZ3Vw0mJ8uQ`,
    expires_at: '2026-11-24T09:32:41.000Z',
    filename: PATCH_FILE.filename,
    filepath: PATCH_FILE.filepath,
    size_bytes: PATCH_FILE.size_bytes,
    sha256: SHA256,
  },
} as const

const conversation = {
  conversation_id: RUN_ID,
  run_ids: [RUN_ID],
  steps: [
    {
      id: `${RUN_ID}:1`,
      description: PROMPT,
      started_at: '2026-11-24T09:14:02.655Z',
      completed_at: '2026-11-24T09:14:11.512Z',
      messages: [
        {
          role: 'user',
          content: [{ type: 'text', text: PROMPT, message_id: RUN_ID }],
          message_ids: [RUN_ID],
          run_id: RUN_ID,
          timestamp: '2026-11-24T09:14:02.655Z',
        },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'I run the tests first.', message_id: `${RUN_ID}:9` },
            {
              ...{ type: 'action', id: 'call_1', category: 'command', name: 'bash' },
              input: { command: 'npm test' },
            },
          ],
          message_ids: [`${RUN_ID}:9`, 'call_1'],
          run_id: RUN_ID,
          timestamp: '2026-11-24T09:14:09.307Z',
        },
        {
          role: 'tool',
          content: [
            {
              ...{ type: 'action_result', action_id: 'call_1', category: 'command', name: 'bash' },
              state: 'completed',
              output: { text: '41 passed\n', exit_code: 0, duration_ms: 2140 },
            },
          ],
          message_ids: ['call_1'],
          run_id: RUN_ID,
          timestamp: '2026-11-24T09:14:11.512Z',
        },
      ],
      steps: [],
    },
  ],
  page_info: LAST_PAGE,
} as const

const followup = 'Round half to even, please, as the bank does.'

const CLAUDE_TOKENS = {
  input_tokens: 1_840,
  output_tokens: 2_215,
  cache_read_input_tokens: 91_402,
  cache_creation_input_tokens: 12_077,
}

export const RUN_EXAMPLES = {
  createRun: { client: 'runs.create', body: request, answer: created },
  runAgent: { body: request, answer: created },
  listRuns: {
    client: 'runs.list',
    query: { state: ['INPROGRESS', 'BLOCKED'], environment_id: 'shop', limit: 50 },
    answer: { runs: [run], page_info: LAST_PAGE },
  },
  getRun: { client: 'runs.retrieve', path: { run_id: RUN_ID }, answer: run },
  submitFollowup: {
    client: 'runs.followup',
    path: { run_id: RUN_ID },
    body: { message: followup },
    answer: { followup_id: '01a20b2f-c0de-7a11-8f3b-1d92e64a70b5', outcome: 'live_session' },
  },
  prepareRunAttachments: { path: { run_id: RUN_ID }, ...prepared },
  prepareConversationAttachments: { path: { conversation_id: RUN_ID }, ...prepared },
  cancelRun: { client: 'runs.cancel', path: { run_id: RUN_ID }, answer: RUN_ID },
  updateRun: {
    client: 'runs.update',
    path: { run_id: RUN_ID },
    body: { title: 'Rounding in the cart' },
    answer: { ...run, title: 'Rounding in the cart' },
  },
  deleteRun: {
    client: 'runs.delete',
    path: { run_id: RUN_ID },
    query: { cancel: true },
    answer: { run_id: RUN_ID, deleted: 3 },
  },
  deleteRuns: {
    client: 'runs.deleteMany',
    body: { environment_id: ENVIRONMENT_ID, created_before: '2026-06-01T00:00:00.000Z', dry_run: true },
    answer: { dry_run: true, count: 1204, open: 0, has_more: true },
  },
  archiveRun: {
    client: 'runs.archive',
    path: { run_id: RUN_ID },
    answer: { ...run, archived_at: '2026-11-25T08:00:00.000Z' },
  },
  unarchiveRun: { client: 'runs.unarchive', path: { run_id: RUN_ID }, answer: run },
  interruptRun: { client: 'runs.interrupt', path: { run_id: RUN_ID }, answer: { run_id: RUN_ID } },
  answerApproval: {
    client: 'runs.answerApproval',
    path: { run_id: RUN_ID, approval_id: APPROVAL_ID },
    body: { decision: 'allow_once' },
    answer: { run_id: RUN_ID, approval_id: APPROVAL_ID, decision: 'allow_once', sequence: 27 },
  },
  listEvents: {
    client: 'runs.events',
    path: { run_id: RUN_ID },
    query: { after: 0, limit: 200 },
    answer: {
      events: [
        {
          sequence: 1,
          run_id: RUN_ID,
          type: 'run.state',
          occurred_at: '2026-11-24T09:14:02.656Z',
          data: { state: 'QUEUED', attempt: 0, execution: 1 },
        },
        {
          sequence: 2,
          run_id: RUN_ID,
          type: 'message.user',
          occurred_at: '2026-11-24T09:14:02.656Z',
          data: { text: PROMPT, message_id: RUN_ID },
        },
      ],
      has_more: false,
    },
  },
  streamEvents: { client: 'runs.streamMany', query: { run_ids: [RUN_ID], follow: true } },
  getRunConversation: { client: 'runs.conversation', path: { run_id: RUN_ID }, answer: conversation },
  getConversation: { path: { conversation_id: RUN_ID }, answer: conversation },
  getRunDiff: {
    client: 'runs.diff',
    path: { run_id: RUN_ID },
    answer: {
      run_id: RUN_ID,
      ...CHANGED,
      repositories: [{ directory: 'shop', base_commit: '4c1f0a9e7b3d2865f0c4e1a9d7b36258e4f0c1a2' }],
      files: [
        { path: 'src/cart.ts', status: 'modified', additions: 4, deletions: 3 },
        { path: 'test/cart.test.ts', status: 'modified', additions: 15, deletions: 0 },
      ],
      notes: [],
      patch,
    },
  },
  listPullRequests: {
    client: 'runs.pullRequests',
    path: { run_id: RUN_ID },
    answer: { pull_requests: [PULL_REQUEST] },
  },
  getRunTimeline: {
    client: 'runs.timeline',
    path: { run_id: RUN_ID },
    answer: {
      events: [
        {
          event_uuid: '0b0f4c1e-5b0f-5d0e-8f5e-2f6c7a1d9e33',
          event_type: 'oz_run_created',
          run_id: RUN_ID,
          execution_id: 1,
          occurred_at: '2026-11-24T09:14:02.656Z',
          payload: {},
        },
      ],
    },
  },
  getHarnessUsage: {
    client: 'runs.harnessUsage',
    path: { run_id: RUN_ID },
    answer: {
      available: true,
      run_id: RUN_ID,
      conversation_id: RUN_ID,
      age_seconds: 61,
      usage: {
        harness: 'CLAUDE_CODE',
        capturedAt: '2026-11-24T09:17:39.120Z',
        captureSequence: 84,
        executionId: 1,
        metricsVersion: 1,
        snapshot: {
          coverage: { tokenStatus: 'known', toolStatus: 'known' },
          payload: {
            usage: CLAUDE_TOKENS,
            attribution: [{ model: 'anthropic/claude-sonnet-5', usage: CLAUDE_TOKENS }],
            toolCalls: { byName: { Edit: 3, Bash: 5 }, total: 8 },
          },
        },
      },
    },
  },
  findRunByReference: {
    client: 'runs.findByReference',
    query: { url: PULL_REQUEST.url },
    answer: { run_id: RUN_ID },
  },
  getEgressRanges: { client: 'networking.egressRanges', answer: { cidrs: ['203.0.113.0/28'] } },
  mergePullRequest: {
    client: 'runs.merge',
    path: { run_id: RUN_ID },
    body: { commit: PULL_REQUEST.commit },
    answer: MERGED,
  },
  getTranscript: { client: 'runs.transcript', path: { run_id: RUN_ID } },
  listHandoffAttachments: {
    client: 'runs.handoffAttachments',
    path: { run_id: RUN_ID },
    answer: {
      attachments: [
        {
          attachment_id: '01a20b31-a1c9-7d52-b06e-3f84c7e0912a',
          filename: 'workspace.tar.zst',
          mime_type: 'application/zstd',
          download_url: `${SERVICE}/downloads/snapshots/01a20b31-a1c9-7d52-b06e-3f84c7e0912a?expires=1795512161&key=01a1f3c8-6a02-7be4-b7d1-90c52e1f6a3d&signature=Qm7RkL2xY0s`,
          expires_at: '2026-11-24T09:32:41.000Z',
          size_bytes: 4_821_337,
          sha256: SHA256,
          turn: 1,
          created_at: '2026-11-24T09:17:40.874Z',
        },
      ],
    },
  },
  listWorkspaceFiles: {
    client: 'files.list',
    path: { run_id: RUN_ID },
    query: { path: 'src' },
    answer: {
      ...{ run_id: RUN_ID, turn: 2, turns: [1, 2], path: 'src' },
      files: [
        { path: 'src/lib', name: 'lib', type: 'folder', mode: '755' },
        { path: 'src/total.ts', name: 'total.ts', type: 'file', mode: '644', size_bytes: 1_304 },
      ],
      page_info: { has_next_page: false },
    },
  },
  getWorkspaceFile: {
    client: 'files.retrieve',
    path: { run_id: RUN_ID },
    query: { path: 'src/total.ts' },
    answer: {
      ...{ run_id: RUN_ID, turn: 2, path: 'src/total.ts', name: 'total.ts', type: 'file', mode: '644' },
      size_bytes: 1_304,
      download_url: `${SERVICE}/downloads/snapshots/01a20b31-a1c9-7d52-b06e-3f84c7e0912a/52736-1304/total.ts?expires=1795512161&key=01a1f3c8-6a02-7be4-b7d1-90c52e1f6a3d&signature=Qm7RkL2xY0s`,
      expires_at: '2026-11-24T09:32:41.000Z',
    },
  },
  getArtifact: { client: 'artifacts.retrieve', path: { artifact_uid: ARTIFACT_ID }, answer: patch },
  downloadArtifact: { path: { artifact_uid: ARTIFACT_ID } },
  submitConversationFollowup: {
    client: 'conversations.followup',
    path: { conversation_id: RUN_ID },
    body: { message: followup },
    answer: {
      ...{ run_id: RUN_ID, followup_id: '01a20b2f-c0de-7a11-8f3b-1d92e64a70b5', outcome: 'live_session' },
    },
  },
  interruptConversation: {
    client: 'conversations.interrupt',
    path: { conversation_id: RUN_ID },
    answer: { run_id: RUN_ID },
  },
  getConversationTranscript: { client: 'conversations.transcript', path: { conversation_id: RUN_ID } },
  downloadConversationScreenshot: {
    client: 'conversations.screenshot',
    path: { conversation_id: RUN_ID, screenshot_uid: ARTIFACT_ID },
  },
  checkConversationRedirect: {
    path: { conversation_id: RUN_ID },
    answer: { session_id: RUN_ID },
  },
  checkSessionRedirect: { path: { session_uuid: RUN_ID }, answer: { conversation_id: RUN_ID } },
} as const
