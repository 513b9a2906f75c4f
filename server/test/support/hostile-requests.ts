import type { HostileCase } from './hostile-case.ts'

const RUNS = '/agent/runs'
const ONE_RUN = '/agent/runs/{run}'
const cursorOf = (...parts: unknown[]) => Buffer.from(JSON.stringify(parts)).toString('base64url')
const NOT_OURS = 'cursor: is not one this service gave out.'
const OTHER_SORT = 'cursor: belongs to another sort_by or sort_order.'
const LIMIT = 'limit: must be a whole number from 1 to 500'
const MOMENT = 'must be an RFC 3339 date-time such as 2026-01-31T12:00:00Z'
const NO_RUN = 'There is no run with this id.'
const NO_PATH = 'There is nothing at this path.'
const METADATA_KEY = 'keys are 1 to 64 characters of A-Z, a-z, 0-9, ".", "_", "-"'
const NUL = 'Text must not contain NUL characters.'

const bad = { status: 400, code: 'invalid_request' } as const
const list = (name: string, query: string, detail: string): HostileCase => ({
  name,
  path: `${RUNS}?${query}`,
  detail,
  ...bad,
})
const missing = (
  name: string,
  path: string,
  detail: string,
  more: Partial<HostileCase> = {},
): HostileCase => ({
  name,
  path,
  detail,
  status: 404,
  code: 'resource_not_found',
  ...more,
})
const noMethod = (method: string, path: string, allow: string): HostileCase => ({
  name: `${method} ${path}`,
  method,
  path,
  status: 405,
  code: 'invalid_request',
  detail: `This path has no ${method}: it has ${allow}.`,
  answers: { allow },
})
const withHeader = (
  name: string,
  header: readonly [string, string],
  detail: string,
  more: Partial<HostileCase> = {},
): HostileCase => ({
  name,
  method: 'POST',
  path: RUNS,
  headers: [header],
  body: { prompt: 'x', config: { worker_host: 'nobody' } },
  detail,
  ...bad,
  ...more,
})
const unknownKey = (name: string, detail: string, ...authorization: string[]): HostileCase => ({
  name,
  path: RUNS,
  key: null,
  headers: authorization.map((value) => ['Authorization', value]),
  detail,
  status: 401,
  code: 'authentication_required',
  answers: { 'www-authenticate': 'Bearer' },
})
const viewerWrites = (path: string): HostileCase => ({
  name: `a viewer: POST ${path}`,
  method: 'POST',
  path,
  key: 'viewer',
  body: {},
  detail: 'A key with the role viewer may only read.',
  status: 403,
  code: 'not_authorized',
})

/** Methods, paths, queries, headers and keys that no honest client sends. */
export const HOSTILE_REQUESTS: HostileCase[] = [
  noMethod('PUT', RUNS, 'POST, GET, HEAD'),
  noMethod('DELETE', RUNS, 'POST, GET, HEAD'),
  noMethod('PUT', ONE_RUN, 'GET, HEAD, DELETE, PATCH'),
  noMethod('POST', '/agent/models', 'GET, HEAD'),
  noMethod('GET', '/agent/run', 'POST'),
  noMethod('GET', `${ONE_RUN}/cancel`, 'POST'),
  noMethod('OPTIONS', RUNS, 'POST, GET, HEAD'),
  noMethod('TRACE', RUNS, 'POST, GET, HEAD'),

  missing('an unknown path', '/agent/nothing', NO_PATH),
  missing('an unknown path without a key', '/agent/nothing', NO_PATH, { key: null }),
  missing('another version', '/api/v2/agent/runs', NO_PATH, { whole_path: true }),
  missing('a path in capitals', '/AGENT/RUNS', NO_PATH),
  missing('an empty id', `${RUNS}/`, NO_RUN),
  missing('a path that climbs', '/agent/runs/../../../etc/passwd', NO_PATH),
  missing('a path that climbs, encoded', '/agent/runs/..%2f..%2fetc%2fpasswd', NO_RUN),
  missing('an asset that climbs', '/assets/..%2f..%2fserver%2fpackage.json', NO_PATH, { whole_path: true }),
  missing(
    'a download that climbs',
    '/downloads/artifacts/..%2f..%2fetc%2fpasswd',
    'The link is not valid, or its time is over.',
    { whole_path: true },
  ),
  missing('an unknown run', '/agent/runs/{nowhere}', NO_RUN),
  missing('a run in capitals', '/agent/runs/{RUN}', NO_RUN),
  missing('a run in braces', '/agent/runs/%7b{run}%7d', NO_RUN),
  missing('SQL as an id', "/agent/runs/'%20or%201=1--", NO_RUN),
  missing('NUL as an id', '/agent/runs/%00', NO_RUN),
  missing('NUL as an environment', '/agent/environments/%00', 'There is no environment with this name.'),
  missing(
    'SQL as an environment',
    "/agent/environments/'%20or%20''='",
    'There is no environment with this name.',
  ),
  missing('SQL as an artifact', "/agent/artifacts/'%20or%201=1--", 'There is no artifact with this id.'),
  missing('events of an unknown run', '/agent/runs/{nowhere}/events', NO_RUN),
  missing('cancelling an unknown run', '/agent/runs/{nowhere}/cancel', NO_RUN, { method: 'POST' }),
  missing('a follow-up to an unknown run', '/agent/runs/{nowhere}/followups', NO_RUN, {
    method: 'POST',
    body: { message: 'x' },
  }),
  missing('a follow-up to SQL', '/agent/runs/1;drop/followups', NO_RUN, {
    method: 'POST',
    body: { message: 'x' },
  }),
  {
    name: 'a percent sign alone',
    path: '/agent/runs/%',
    detail: 'The path is not validly percent-encoded.',
    ...bad,
  },
  {
    name: 'percent-encoding that is not UTF-8',
    path: '/agent/runs/%ff',
    detail: 'The path is not validly percent-encoded.',
    ...bad,
  },
  {
    name: 'an id of 5,000 characters',
    path: `/agent/runs/${'a'.repeat(5000)}`,
    detail: 'A part of the path is too long.',
    status: 414,
    code: 'invalid_request',
  },

  ...['0', '501', 'abc', '1e3', '-1', '1.5', '', '%201', '0x10', '99999999999999999999'].map((value) =>
    list(`limit=${value}`, `limit=${value}`, LIMIT),
  ),
  list('two limits', 'limit=1&limit=2', 'limit: Invalid input: expected string, received array'),
  list('two cursors', 'cursor=a&cursor=b', 'cursor: Invalid input: expected string, received array'),
  list('a cursor of text', 'cursor=abc', NOT_OURS),
  list('a cursor of nothing', 'cursor=', NOT_OURS),
  list('a cursor of another list', `cursor=${cursorOf(1, 2)}`, NOT_OURS),
  list(
    'a cursor without an id',
    `cursor=${cursorOf('updated_at', 'desc', '2026-01-01T00:00:00.000Z', 'x')}`,
    NOT_OURS,
  ),
  list(
    'a cursor without a time',
    `cursor=${cursorOf('updated_at', 'desc', "now'--", '{nowhere}')}`,
    NOT_OURS,
  ),
  list(
    'a cursor of a year',
    `cursor=${cursorOf('updated_at', 'desc', '2026', '01900000-0000-7000-8000-000000000000')}`,
    NOT_OURS,
  ),
  list(
    'a cursor beyond all time',
    `cursor=${cursorOf('updated_at', 'desc', '+275760-09-13T00:00:00.000Z', '01900000-0000-7000-8000-000000000000')}`,
    NOT_OURS,
  ),
  list(
    'a cursor with NUL',
    `sort_by=title&cursor=${cursorOf('title', 'desc', 'a\u0000', '01900000-0000-7000-8000-000000000000')}`,
    NOT_OURS,
  ),
  list(
    'a cursor of another sort',
    `sort_by=title&cursor=${cursorOf('updated_at', 'desc', '2026-01-01T00:00:00.000Z', '01900000-0000-7000-8000-000000000000')}`,
    OTHER_SORT,
  ),
  list(
    'a cursor of another order',
    `sort_order=asc&cursor=${cursorOf('updated_at', 'desc', '2026-01-01T00:00:00.000Z', '01900000-0000-7000-8000-000000000000')}`,
    OTHER_SORT,
  ),
  list(
    'a cursor by a made-up sort',
    `cursor=${cursorOf('toString', 'desc', 'x', '01900000-0000-7000-8000-000000000000')}`,
    NOT_OURS,
  ),
  ...[
    'yesterday',
    '2026-13-01T00:00:00Z',
    '2026-01-01',
    '2026-01-01T00:00:00',
    '0000-01-01T00:00:00Z',
    '2026-01-01T00:00:00%2B25:00',
    '10000-01-01T00:00:00Z',
  ].map((value) => list(`created_after=${value}`, `created_after=${value}`, `created_after: ${MOMENT}`)),
  list(
    'an unknown state',
    'state=DONE',
    'state.0: Invalid option: expected one of "QUEUED"|"PENDING"|"CLAIMED"|"INPROGRESS"|"SUCCEEDED"|"FAILED"|"ERROR"|"BLOCKED"|"CANCELLED"',
  ),
  list(
    'a state in small letters',
    'state=QUEUED,queued',
    'state.1: Invalid option: expected one of "QUEUED"|"PENDING"|"CLAIMED"|"INPROGRESS"|"SUCCEEDED"|"FAILED"|"ERROR"|"BLOCKED"|"CANCELLED"',
  ),
  list(
    'an unknown sort',
    'sort_by=colour',
    'sort_by: Invalid option: expected one of "updated_at"|"created_at"|"title"|"agent"',
  ),
  list('an unknown order', 'sort_order=up', 'sort_order: Invalid option: expected one of "asc"|"desc"'),
  list(
    'an unknown location',
    'execution_location=MOON',
    'execution_location: Invalid option: expected one of "LOCAL"|"REMOTE"',
  ),
  list(
    'an environment that is not there',
    'environment_id=x',
    'environment_id: there is no environment with this name.',
  ),
  list('an ancestor that is no id', 'ancestor_run_id=x', 'ancestor_run_id: must be a run id'),
  list('an ancestor in capitals', 'ancestor_run_id={RUN}', 'ancestor_run_id: must be a run id'),
  list(
    'an address without a scheme',
    'reference_url=example.com/pull/7',
    'reference_url: must be an http or https address',
  ),
  list(
    'an address with a password',
    'reference_url=https://me:word@example.com/pull/7',
    'reference_url: must hold no credentials',
  ),
  list('metadata without a key', 'metadata=x', 'metadata: Invalid input: expected record, received string'),
  list(
    'metadata with and without a key',
    'metadata=x&metadata[a]=b',
    'metadata: Invalid input: expected record, received string',
  ),
  list('a metadata key with a blank', 'metadata[a%20b]=x', `metadata.a b: ${METADATA_KEY}`),
  list(
    'six of metadata',
    'metadata[a]=1&metadata[b]=1&metadata[c]=1&metadata[d]=1&metadata[e]=1&metadata[f]=1',
    'metadata: at most 5 metadata filters',
  ),
  list(
    'two values of one key',
    'metadata[a]=1&metadata[a]=2',
    'metadata.a: Invalid input: expected string, received array',
  ),
  list('an empty q', 'q=', 'q: Too small: expected string to have >=1 characters'),
  list(
    'a q of 513 characters',
    `q=${'x'.repeat(513)}`,
    'q: Too big: expected string to have <=512 characters',
  ),
  list('NUL in q', 'q=a%00b', NUL),
  list('NUL in a name', 'a%00b=x', NUL),
  list('__proto__ in the query', 'metadata[__proto__]=x', 'A field must not be called __proto__.'),
  {
    name: 'events after -1',
    path: `${ONE_RUN}/events?after=-1`,
    detail: 'after: must be a whole number from 0 to 9007199254740991',
    ...bad,
  },
  {
    name: 'events by 1,001',
    path: `${ONE_RUN}/events?limit=1001`,
    detail: 'limit: must be a whole number from 1 to 1000',
    ...bad,
  },
  {
    name: 'a stream that may follow',
    path: `${ONE_RUN}/events?follow=maybe`,
    detail: 'follow: must be true or false',
    ...bad,
  },
  {
    name: 'Last-Event-ID that is no sequence',
    path: `${ONE_RUN}/events`,
    headers: [
      ['Accept', 'text/event-stream'],
      ['Last-Event-ID', '1 or 1=1'],
    ],
    detail: 'Last-Event-ID: must be the sequence of an event.',
    ...bad,
  },

  withHeader(
    'text/plain',
    ['Content-Type', 'text/plain'],
    'The body must be JSON: send Content-Type: application/json.',
    { status: 415 },
  ),
  withHeader(
    'no media type',
    ['X-Nothing', ''],
    'The body must be JSON: send Content-Type: application/json.',
    { status: 415 },
  ),
  withHeader(
    'a form',
    ['Content-Type', 'application/x-www-form-urlencoded'],
    'The body must be JSON: send Content-Type: application/json.',
    { status: 415 },
  ),
  withHeader(
    'a media type that only looks right',
    ['Content-Type', 'application/jsonp'],
    'The body must be JSON: send Content-Type: application/json.',
    { status: 415 },
  ),
  withHeader(
    'JSON in Latin-1',
    ['Content-Type', 'application/json; charset=latin1'],
    'The body must be UTF-8: leave charset out of Content-Type.',
    { status: 415 },
  ),
  withHeader(
    'JSON in UTF-16',
    ['Content-Type', 'application/json; charset="utf-16"'],
    'The body must be UTF-8: leave charset out of Content-Type.',
    { status: 415 },
  ),
  withHeader(
    'an empty Idempotency-Key',
    ['Idempotency-Key', ''],
    'Idempotency-Key: must be 1 to 255 characters.',
  ),
  withHeader(
    'an Idempotency-Key of 256 characters',
    ['Idempotency-Key', 'x'.repeat(256)],
    'Idempotency-Key: must be 1 to 255 characters.',
  ),
  withHeader(
    'an Idempotency-Key used before',
    ['Idempotency-Key', 'used'],
    'This Idempotency-Key was used with another body.',
    { status: 422 },
  ),
  withHeader(
    'an unknown source',
    ['X-Runyard-Source', 'MOON'],
    'X-Runyard-Source: must be API, CLI or WEB_APP.',
  ),
  {
    name: 'another host',
    path: RUNS,
    headers: [['Host', 'evil.test']],
    detail: 'The Host header names another service than this one (RUNYARD_PUBLIC_URL).',
    ...bad,
  },
  {
    name: 'a host that ends like ours',
    path: RUNS,
    headers: [['Host', 'localhost.evil.test:80']],
    detail: 'The Host header names another service than this one (RUNYARD_PUBLIC_URL).',
    ...bad,
  },
  {
    name: 'two hosts',
    path: RUNS,
    headers: [
      ['Host', 'localhost'],
      ['Host', 'evil.test'],
    ],
    detail: 'host: is given more than once.',
    ...bad,
  },
  {
    name: 'an interrupt of a queued run',
    method: 'POST',
    path: `${ONE_RUN}/interrupt`,
    detail: 'The run is queued: there is no turn to interrupt yet.',
    status: 409,
    code: 'conflict',
    retryable: true,
  },

  unknownKey('no key', 'Send an API key: "Authorization: Bearer ry_…".'),
  unknownKey('an empty header', 'Send an API key: "Authorization: Bearer ry_…".', ''),
  unknownKey('another scheme', 'The Authorization header must be "Bearer" and a key.', 'Basic cm9vdDpyb290'),
  unknownKey('Bearer alone', 'The Authorization header must be "Bearer" and a key.', 'Bearer'),
  unknownKey('two keys in one header', 'The Authorization header must be "Bearer" and a key.', 'Bearer a b'),
  unknownKey(
    'a garbled key',
    'The key is not complete: a character is missing or wrong.',
    'Bearer ry_\u00ff\u00fe',
  ),
  unknownKey(
    'a key with a typo',
    'The key is not complete: a character is missing or wrong.',
    'Bearer {typo}',
  ),
  unknownKey('SQL as a key', 'The key is not complete: a character is missing or wrong.', "Bearer 'or''='"),
  unknownKey('a well-formed stranger', 'The key is unknown, expired or revoked.', 'Bearer {stranger}'),
  unknownKey('a revoked key', 'The key is unknown, expired or revoked.', 'Bearer {revoked}'),
  unknownKey('an expired key', 'The key is unknown, expired or revoked.', 'Bearer {expired}'),
  {
    ...unknownKey('a key in the query', 'Send an API key: "Authorization: Bearer ry_…".'),
    path: `${RUNS}?api_key={good}`,
  },
  {
    ...unknownKey(
      'two Authorization headers',
      'authorization: is given more than once.',
      'Bearer {good}',
      'Bearer {stranger}',
    ),
    ...bad,
    answers: {},
  },
  viewerWrites(RUNS),
  viewerWrites('/agent/run'),
  viewerWrites(`${ONE_RUN}/cancel`),
  viewerWrites(`${ONE_RUN}/followups`),
  viewerWrites(`${ONE_RUN}/interrupt`),
  viewerWrites('/agent/environments'),
]
