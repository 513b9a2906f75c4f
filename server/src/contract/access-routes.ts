import { z } from 'zod'
import {
  ApiKey,
  CreateApiKeyRequest,
  ListApiKeysQuery,
  ListApiKeysResponse,
  NewApiKey,
  RotateApiKeyRequest,
} from './api-key.ts'
import { ListAuditLogQuery, ListAuditLogResponse } from './audit-log.ts'
import type { ErrorCode } from './error.ts'
import { GrantsQuery, PutGrantsRequest, ResourceGrants } from './grant.ts'
import {
  AgentIdentity,
  CreateAgentIdentityRequest,
  ListAgentIdentitiesQuery,
  ListAgentIdentitiesResponse,
  UpdateAgentIdentityRequest,
} from './identity.ts'
import { ListPoolsQuery, ListPoolsResponse } from './pool.ts'
import { ListPrincipalsQuery, ListPrincipalsResponse, Principal } from './principal.ts'
import { define, Empty } from './route.ts'
import { CreateSignInLinkRequest, SignInLink } from './sign-in-link.ts'

const KeyParams = z.object({ key_id: z.string().meta({ description: 'Id of the key.' }) })
const IdentityParams = z.object({ uid: z.string().meta({ description: 'Id of the identity.' }) })
const PersonParams = z.object({ uid: z.string().meta({ description: 'Id of the person.' }) })
const reading: ErrorCode[] = ['authentication_required', 'resource_unavailable']
const writing: ErrorCode[] = ['invalid_request', 'not_authorized', 'conflict', ...reading]

/** Who may do what, and who did: a part of ROUTES. */
export const ACCESS_ROUTES = {
  createApiKey: define({
    method: 'POST',
    path: '/api-keys',
    summary: 'Create an API key',
    description:
      'The answer holds the key, this once; with the same Idempotency-Key it is given again for 24 hours. For admins.',
    tag: 'Access',
    role: 'admin',
    body: CreateApiKeyRequest,
    status: 201,
    target: { field: 'key_id', param: 'key_id' },
    response: NewApiKey,
    errors: writing,
  }),
  listApiKeys: define({
    method: 'GET',
    path: '/api-keys',
    summary: 'List API keys',
    description: 'Masked, newest first. Admins see all, others those of their own principal.',
    tag: 'Access',
    query: ListApiKeysQuery,
    status: 200,
    response: ListApiKeysResponse,
    pages: 'api_keys',
    errors: ['invalid_request', ...reading],
  }),
  rotateApiKey: define({
    method: 'POST',
    path: '/api-keys/{key_id}/rotate',
    summary: 'Rotate an API key',
    description:
      'Makes a key in place of another: of the same principal, role, pool, name and expiry. Everybody may rotate the keys of the own principal, up to the own role; admins all.',
    tag: 'Access',
    for_viewers: true,
    params: KeyParams,
    body: RotateApiKeyRequest,
    status: 201,
    response: NewApiKey,
    errors: [...writing, 'resource_not_found'],
  }),
  revokeApiKey: define({
    method: 'DELETE',
    path: '/api-keys/{key_id}',
    summary: 'Revoke an API key',
    description:
      'At once. Answers with the key as it is then. The last admin key that works is refused with 409. Everybody may revoke the keys of the own principal, up to the own role; admins all.',
    tag: 'Access',
    for_viewers: true,
    params: KeyParams,
    status: 200,
    response: ApiKey,
    errors: [...writing, 'resource_not_found'],
  }),
  listPrincipals: define({
    method: 'GET',
    path: '/principals',
    summary: 'List people',
    description: 'Newest first, with what their keys may do and when one was used last. For admins.',
    tag: 'Access',
    role: 'admin',
    query: ListPrincipalsQuery,
    status: 200,
    response: ListPrincipalsResponse,
    pages: 'principals',
    errors: ['invalid_request', 'not_authorized', ...reading],
  }),
  disablePrincipal: define({
    method: 'POST',
    path: '/principals/{uid}/disable',
    summary: 'Disable a person',
    description:
      'Their keys, sessions and links stop working at once, and their streams end within 30 seconds. Their schedules and triggers start nothing, and no worker takes their queued runs. ' +
      'Runs at work go on. The person with the last admin key that works cannot be disabled (409). For admins.',
    tag: 'Access',
    role: 'admin',
    params: PersonParams,
    body: Empty,
    status: 200,
    response: Principal,
    errors: [...writing, 'resource_not_found'],
  }),
  enablePrincipal: define({
    method: 'POST',
    path: '/principals/{uid}/enable',
    summary: 'Enable a person again',
    description:
      'Their keys work again, but those that were revoked meanwhile; their schedules, triggers and queued runs go on. For admins.',
    tag: 'Access',
    role: 'admin',
    params: PersonParams,
    body: Empty,
    status: 200,
    response: Principal,
    errors: [...writing, 'resource_not_found'],
  }),
  createSignInLink: define({
    method: 'POST',
    path: '/agent/sign-in-links',
    summary: 'Create a link that signs in to the page',
    description:
      "Opens the page in a browser, signed in with the key that asks: once, and within 60 seconds. An admin can make one for another person (`principal_id`), which signs in with that person's strongest key within 24 hours. Its token stands in the fragment, which browsers send to nobody.",
    tag: 'Access',
    for_viewers: true,
    body: CreateSignInLinkRequest,
    status: 201,
    response: SignInLink,
    errors: writing,
  }),
  createAgentIdentity: define({
    method: 'POST',
    path: '/agent/identities',
    summary: 'Create an agent identity',
    description:
      'A service account that executes runs of the team, with defaults for them. Runs name it in `agent_identity_uid`; it may have keys of its own.',
    tag: 'Access',
    body: CreateAgentIdentityRequest,
    status: 201,
    target: { field: 'uid', param: 'uid' },
    response: AgentIdentity,
    errors: [...writing, 'feature_not_available'],
  }),
  listAgentIdentities: define({
    method: 'GET',
    path: '/agent/identities',
    summary: 'List agent identities',
    description:
      'By name. There are at most 500, so without a `limit` it is all of them. Long prompts are cut.',
    tag: 'Access',
    query: ListAgentIdentitiesQuery,
    status: 200,
    response: ListAgentIdentitiesResponse,
    pages: 'agents',
    errors: ['invalid_request', ...reading],
  }),
  getAgentIdentity: define({
    method: 'GET',
    path: '/agent/identities/{uid}',
    summary: 'Get an agent identity',
    tag: 'Access',
    params: IdentityParams,
    status: 200,
    response: AgentIdentity,
    errors: [...reading, 'resource_not_found'],
  }),
  updateAgentIdentity: define({
    method: 'PUT',
    path: '/agent/identities/{uid}',
    summary: 'Update an agent identity',
    description: 'What is left out or null stays. For admins and who made it.',
    tag: 'Access',
    params: IdentityParams,
    body: UpdateAgentIdentityRequest,
    status: 200,
    response: AgentIdentity,
    errors: [...writing, 'resource_not_found', 'feature_not_available'],
  }),
  deleteAgentIdentity: define({
    method: 'DELETE',
    path: '/agent/identities/{uid}',
    summary: 'Delete an agent identity',
    description:
      'Its keys are revoked and it executes nothing new; its runs stay. Answers with what is deleted. For admins and who made it.',
    tag: 'Access',
    params: IdentityParams,
    status: 200,
    response: AgentIdentity,
    errors: [...writing, 'resource_not_found'],
  }),
  listPools: define({
    method: 'GET',
    path: '/agent/pools',
    summary: 'List pools',
    description:
      'By name: those that the caller may name in `config.worker_host` of a run, with what their workers are doing. A pool is listed while it has workers or grants; the default one always is.',
    tag: 'Access',
    query: ListPoolsQuery,
    status: 200,
    response: ListPoolsResponse,
    pages: 'pools',
    errors: ['invalid_request', ...reading],
  }),
  getGrants: define({
    method: 'GET',
    path: '/agent/grants',
    summary: 'Get who may use a pool, an environment, an identity or a secret',
    tag: 'Access',
    query: GrantsQuery,
    status: 200,
    response: ResourceGrants,
    errors: ['invalid_request', ...reading, 'resource_not_found'],
  }),
  putGrants: define({
    method: 'PUT',
    path: '/agent/grants',
    summary: 'Set who may use a pool, an environment, an identity or a secret',
    description:
      'Replaces all grants of one thing. A pool, an environment or a secret without any is for everybody who may write, an identity for admins and who made it; with some, it is for those who are named and admins. For admins; an identity also for who made it.',
    tag: 'Access',
    body: PutGrantsRequest,
    status: 200,
    target: { field: 'resource_id' },
    response: ResourceGrants,
    errors: [...writing, 'resource_not_found'],
  }),
  listAuditLog: define({
    method: 'GET',
    path: '/audit-log',
    summary: 'List the audit log',
    description:
      'Who did what, when and from where, newest first: writes, denials, links that were issued, secrets that runs were given. For admins.',
    tag: 'Access',
    role: 'admin',
    query: ListAuditLogQuery,
    status: 200,
    response: ListAuditLogResponse,
    pages: 'entries',
    errors: ['invalid_request', 'not_authorized', ...reading],
  }),
} as const
