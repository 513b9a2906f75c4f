/**
 * What each may use of the service at once or in a minute. `docs/self-hosting.md` has the same table for people, and a test
 * compares the two. A limit that is not here does not exist twice: routes and the gateway read it from this file.
 *
 * A budget belongs to somebody who cannot be renewed: a principal with all of its keys, all visitors of a principal's links, an
 * address without a key (IPv4, or the /64 of IPv6, which one machine has whole), a sandbox. `in_all` is for everybody together
 * at one process; nobody gets more than a quarter of what the others leave of it (`holdings.ts`).
 */
export interface Budget {
  name: string
  unit: 'a minute' | 'at once' | 'bytes at once' | 'bytes a day' | 'rows'
  /** Whose it is. */
  of: string
  most: number
  in_all?: number
  beyond: string
}

const MiB = 1024 ** 2
const REFUSED = '429, Retry-After'

export const BUDGETS = {
  streams: {
    ...{ name: 'Event streams', unit: 'at once', of: 'principal, visitors of a principal' },
    ...{ most: 200, in_all: 2_000, beyond: REFUSED },
  },
  followed_runs: {
    ...{ name: 'Runs followed by event streams', unit: 'at once', of: 'principal, visitors of a principal' },
    ...{ most: 2_000, in_all: 20_000, beyond: REFUSED },
  },
  downloads: {
    ...{ name: 'Downloads by signed links', unit: 'at once', of: 'principal, visitors of a principal' },
    ...{ most: 32, in_all: 256, beyond: REFUSED },
  },
  requests_ahead: {
    ...{ name: 'Requests sent ahead of the answers before them', unit: 'at once', of: 'connection' },
    ...{ most: 16, beyond: 'the connection ends' },
  },
  bodies: {
    ...{ name: 'Request bodies in memory', unit: 'bytes at once', of: 'principal' },
    ...{ most: 16 * MiB, in_all: 64 * MiB, beyond: REFUSED },
  },
  keyless_bodies: {
    ...{ name: 'Request bodies without a key, and of webhooks', unit: 'bytes at once', of: 'address' },
    ...{ most: 8 * MiB, in_all: 32 * MiB, beyond: REFUSED },
  },
  uploads: {
    ...{ name: 'Requests that send attachments over 64 KiB', unit: 'at once', of: 'principal' },
    ...{ most: 4, in_all: 16, beyond: REFUSED },
  },
  keyless_failures: {
    ...{ name: 'Failed sign-ins, keys and signatures', unit: 'a minute', of: 'address' },
    ...{ most: 120, beyond: REFUSED },
  },
  logins: {
    ...{ name: 'Logins begun', unit: 'a minute', of: 'address, /48 of IPv6' },
    ...{ most: 30, beyond: REFUSED },
  },
  login_questions: {
    ...{ name: 'Polls of a login', unit: 'a minute', of: 'login' },
    ...{ most: 60, beyond: '`slow_down`' },
  },
  noted_refusals: {
    ...{ name: 'Refusals noted in the audit log', unit: 'a minute', of: 'principal, address' },
    ...{ most: 60, in_all: 600, beyond: 'one entry that counts the others' },
  },
  visits: {
    ...{ name: 'Visits begun', unit: 'a minute', of: 'visitors of a principal' },
    ...{ most: 120, beyond: REFUSED },
  },
  kept_visits: {
    ...{ name: 'Visits kept', unit: 'rows', of: 'share link, run and key' },
    ...{ most: 200, beyond: 'the oldest ends' },
  },
  visit_cookies: {
    ...{ name: 'Visits that a browser keeps', unit: 'at once', of: 'browser' },
    ...{ most: 20, beyond: 'the oldest ends' },
  },
  web_sessions: {
    ...{ name: 'Signed-in browsers', unit: 'rows', of: 'principal' },
    ...{ most: 100, beyond: 'the oldest ends' },
  },
  deliveries: {
    ...{
      name: 'Signed deliveries to triggers',
      unit: 'a minute',
      of: 'principal who saved the trigger last',
    },
    ...{ most: 600, beyond: REFUSED },
  },
  kept_deliveries: {
    ...{ name: 'Bodies of deliveries kept', unit: 'bytes a day', of: 'principal who saved the trigger last' },
    ...{ most: 256 * MiB, beyond: 'kept without the body' },
  },
  kept_filtered: {
    ...{
      name: 'Bodies of filtered deliveries, kept a day',
      unit: 'bytes a day',
      of: 'principal who saved the trigger last',
    },
    ...{ most: 16 * MiB, beyond: 'kept without the body' },
  },
  lfs_addresses: {
    ...{ name: 'Addresses of large files that the gateway keeps', unit: 'bytes at once', of: 'sandbox' },
    ...{ most: 4 * MiB, in_all: 32 * MiB, beyond: 'the oldest are forgotten; 429, Retry-After' },
  },
  lfs_questions: {
    ...{ name: 'Questions about large files', unit: 'at once', of: 'sandbox' },
    ...{ most: 4, in_all: 16, beyond: REFUSED },
  },
  lfs_transfers: {
    ...{ name: 'Transfers of large files', unit: 'at once', of: 'sandbox' },
    ...{ most: 32, in_all: 256, beyond: REFUSED },
  },
  waiting_deliveries: {
    ...{ name: 'Deliveries that wait for room', unit: 'rows', of: 'principal who saved the trigger last' },
    ...{ most: 500, beyond: REFUSED },
  },
  waiting_bodies: {
    ...{ name: 'Their bodies', unit: 'bytes at once', of: 'principal who saved the trigger last' },
    ...{ most: 64 * MiB, beyond: REFUSED },
  },
  prepared_attachments: {
    ...{ name: 'Attachments prepared in advance, kept a day', unit: 'rows', of: 'principal' },
    ...{ most: 200, beyond: '409' },
  },
  webhook_sends: {
    ...{ name: 'Webhook deliveries on their way', unit: 'at once', of: 'principal who created the webhook' },
    ...{ most: 16, in_all: 32, beyond: 'waits' },
  },
  letter_sends: {
    ...{ name: 'Letters on their way', unit: 'at once', of: 'principal who created the webhook' },
    ...{ most: 4, in_all: 8, beyond: 'waits' },
  },
  webhook_tests: {
    ...{ name: 'Tests of webhooks', unit: 'a minute', of: 'principal' },
    ...{ most: 6, beyond: REFUSED },
  },
  checks_running: {
    ...{ name: 'Schemas and filters being checked', unit: 'at once', of: 'principal' },
    ...{ most: 2, in_all: 4, beyond: 'waits' },
  },
  checks_waiting: {
    ...{ name: 'Schemas and filters waiting for their check', unit: 'at once', of: 'principal' },
    ...{ most: 32, in_all: 256, beyond: REFUSED },
  },
  checks_bytes: {
    ...{ name: 'Schemas, filters and what they are asked about', unit: 'bytes at once', of: 'principal' },
    ...{ most: 16 * MiB, in_all: 64 * MiB, beyond: REFUSED },
  },
} as const satisfies Record<string, Budget>
