import type { ErrorCode } from '../contract/error.ts'

const RUN = '0199a3f2-6c1e-7d52-9d1c-5b1f4f0a7e21'
const RUNS = '/api/v1/agent/runs'
const ONE_RUN = `${RUNS}/${RUN}`

/** What people read about an error code: why it comes, what helps, and one of it. */
export interface ErrorPage {
  cause: string
  fix: string
  example: AnswerExample | RunExample
  /** Of the shared wire format; this version never gives it. */
  is_unused?: true
}

/** An answer over HTTP. */
export interface AnswerExample {
  request: string
  /** Where it is another one than the code's. */
  retryable?: boolean
  detail: string
}

/** The end of a run. */
export interface RunExample {
  state: 'FAILED' | 'ERROR' | 'BLOCKED'
  message: string
}

export const ERROR_PAGES: Record<ErrorCode, ErrorPage> = {
  invalid_request: {
    cause:
      'A field, parameter or header is missing, malformed or out of range, or the body is too large (413) or no JSON (415). In a run: what it was asked for cannot be done, such as a conversation that is longer than the model takes in.',
    fix: 'The detail names the field and says what is allowed. Correct it; the same request gives the same answer. A 422 says that an Idempotency-Key was used with another body: use a new key.',
    example: {
      request: `POST ${RUNS}`,
      detail: 'prompt: is required unless skill or config.skill_spec is given',
    },
  },
  integration_not_configured: {
    cause:
      'The run needs something that this installation has not been given: most often a provider of models, or the one that serves this model.',
    fix: 'The message names the settings that help. Models that can be used now are at GET /agent/models. An operator sets the key of a provider and starts the service again; then send a follow-up.',
    example: {
      state: 'FAILED',
      message:
        'No model provider is configured. Set ANTHROPIC_API_KEY, OPENAI_API_KEY, OPENAI_BASE_URL, GEMINI_API_KEY or another one of docs/models.md for the service.',
    },
  },
  authentication_required: {
    cause: 'The API key is missing, malformed, unknown, expired or revoked.',
    fix: 'Send the header "Authorization: Bearer ry_…" with a key that is valid; an admin makes one with runyard keys create.',
    example: { request: `GET ${RUNS}`, detail: 'Send an API key: Authorization: Bearer ry_…' },
  },
  external_authentication_required: {
    cause:
      'A service elsewhere refused the credentials that it was given: most often a model provider refused its API key.',
    fix: 'The message names the provider and the setting or secret that has the key. An operator sets a valid key and restarts the service, or the owner of the environment changes the secret (PUT /agent/secrets/{name}); then send a follow-up.',
    example: {
      state: 'FAILED',
      message:
        "The model provider anthropic refused the service's API key. Set a valid one (ANTHROPIC_API_KEY), restart the service, then send a follow-up.",
    },
  },
  not_authorized: {
    cause:
      'The key is valid, but its role or its principal may not do this: viewers do not write, some operations are for admins, and pools, environments and identities may be granted to others only. In a run: the model provider does not allow the request for the account of the service.',
    fix: 'The detail names what is missing. Use a key with the right role, or have an admin give the grant: PUT /agent/grants.',
    example: {
      request: `POST ${RUNS}`,
      detail: 'This needs a grant for the pool gpu. An admin can give it: PUT /agent/grants.',
    },
  },
  feature_not_available: {
    cause:
      'The request asks for something that this version does not do, and doing without would give another result.',
    fix: 'Leave out the fields that the detail names, or use an installation that offers them.',
    example: { request: `POST ${RUNS}`, detail: 'This version does not offer mode: plan.' },
  },
  budget_exceeded: {
    cause:
      'The run reached a limit that it was given: cost, tokens or time (budget), or the disk of its environment.',
    fix: 'Send a follow-up with a larger budget, and the run goes on where it was. Where it was disk: use less of it, or raise limits.disk_mb of the environment.',
    example: {
      state: 'BLOCKED',
      message: 'The run reached its budget of 200000 tokens. A follow-up with a larger budget goes on.',
    },
  },
  insufficient_credits: {
    cause: 'The provider of the model says that the account which the service uses has no credit left.',
    fix: 'Add credit at the provider, or ask for a model of another one in config.model_id; then send a follow-up, or do the run again with replay_of_run_id.',
    example: {
      state: 'FAILED',
      message:
        'The model provider says that the account has no credit left: Your credit balance is too low to access the API.',
    },
  },
  integration_disabled: {
    cause: 'The integration that the request names exists and has been turned off by whoever owns it.',
    fix: 'Have its owner turn it on again, or do without it.',
    example: { request: `POST ${RUNS}`, detail: 'The integration with github.com is disabled.' },
    is_unused: true,
  },
  content_policy_violation: {
    cause: 'The provider of the model refused what the conversation holds.',
    fix: 'Word the prompt otherwise, leave out what was refused, or use another model. The provider’s own words follow in the message where it gave any.',
    example: {
      state: 'FAILED',
      message:
        'The model provider refused the content of the conversation: The request was rejected by our safety system.',
    },
  },
  resource_not_found: {
    cause:
      'There is nothing with this id or path, it was deleted, or the caller may not see it: personal runs of others look as if they did not exist.',
    fix: 'Check the id and the path, which are case-sensitive, and the key: another one may see more.',
    example: { request: `GET ${ONE_RUN}`, detail: 'There is no run with this id.' },
  },
  conflict: {
    cause:
      'The resource is in a state that does not allow this now, or another request is changing it at this moment.',
    fix: 'Read it again. Where retryable is true, repeat the request in a moment, with the same Idempotency-Key; where it is false, something has to happen first, which the detail says.',
    example: {
      request: `POST ${ONE_RUN}/interrupt`,
      retryable: false,
      detail: 'The run is blocked: there is no turn to interrupt.',
    },
  },
  operation_not_supported: {
    cause:
      'The request is well formed, but this resource or this machine cannot do it. Most often a process refuses to start: its database was migrated by a newer version, or the machine cannot hold sandboxes to their limits.',
    fix: 'The detail says what is missing. Start the newer version, or change the setting that it names; runyard doctor looks at a machine and its settings.',
    example: {
      request: 'GET /api/v1/health',
      detail:
        'The database was migrated by a newer version (0099_later). Start that version or restore a backup.',
    },
  },
  resource_unavailable: {
    cause:
      'Something that the request needs is away for the moment: the database, the storage of files, a worker or the provider of the model; or the disk of the database is full, as the detail says then; or the service is stopping, or has had too many requests (429).',
    fix: 'Repeat it after the seconds in Retry-After, with the same Idempotency-Key. A run that ended with it goes on with a follow-up.',
    example: { request: `GET ${RUNS}`, detail: 'The database is away for the moment.' },
  },
  agent_stream_network_error: {
    cause: 'The connection over which the model answered broke off, and trying again did not help.',
    fix: 'Send a follow-up: the run goes on where it was.',
    example: { state: 'ERROR', message: 'The connection to the model provider broke off.' },
    is_unused: true,
  },
  agent_stream_failure: {
    cause: 'The provider ended the answer of the model with an error of its own.',
    fix: 'Send a follow-up: the run goes on where it was. If it ends in the same way, ask for another model.',
    example: { state: 'ERROR', message: 'The model provider ended its answer with an error.' },
    is_unused: true,
  },
  internal_error: {
    cause: 'A fault of the service, not of the request. What happened stands in its log, and in no answer.',
    fix: 'Repeat the request with the same Idempotency-Key. If it stays, give the trace_id to whoever runs the service: it finds the entry in the log.',
    example: { request: `POST ${RUNS}`, detail: 'The service failed to handle this request.' },
  },
  environment_setup_failed: {
    cause:
      'Before the agent began, the image could not be had, a repository could not be cloned, or a setup command failed.',
    fix: 'The message holds the command, how it ended and the end of its output. Correct the environment (PUT /agent/environments/{name}), then send a follow-up, or do the run again with replay_of_run_id.',
    example: {
      state: 'FAILED',
      message: 'The setup command "npm ci" ended with exit code 1.\nnpm error code ERESOLVE',
    },
  },
}
