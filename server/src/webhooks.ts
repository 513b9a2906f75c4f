import type { Logger } from 'pino'
import type { Config } from './config.ts'
import { createCheckedFetch, type FetchLimits, whyNeverAsked } from './gateway/checked-fetch.ts'
import type { EgressRules } from './gateway/gateway.ts'
import type { HttpSettings } from './http/context.ts'
import { readKeyring } from './secret-keys.ts'
import type { Store } from './store/db.ts'
import type { Watch } from './store/watch.ts'
import { MAX_AT_ONCE } from './store/webhook-deliveries.ts'
import { startPump } from './webhooks/pump.ts'
import { startReplies } from './webhooks/replies.ts'
import { sendTest } from './webhooks/send-test.ts'

const LIMIT_MS = 15_000
/** Of an answer of GitHub. */
const API_LIMIT_MS = 20_000
/** Nobody reads what a receiver says. */
const MAX_BYTES = 64 * 1024

/** Each request may be to a name of its own. */
const LIMITS: FetchLimits = {
  ...{ plain: true, limit_ms: LIMIT_MS, max_bytes: MAX_BYTES, status_alone: true, max_lookups: MAX_AT_ONCE },
}

interface SenderOptions {
  store: Store
  watch: Watch
  log: Logger
  /** What links are made of; known once the service listens. */
  public_url: () => string
}

const rulesOf = ({ private_hosts }: Config): EgressRules => ({ hosts: null, private_hosts })

/** Why nothing would ever be sent to an address, as the sender has it; `null`: it may be. */
export const judgeReceiver =
  (config: Config) =>
  (url: string): string | null =>
    whyNeverAsked(rulesOf(config), url, LIMITS)

/** Sends one test to a webhook, as its events are sent. */
export function createTestSender(config: Config): HttpSettings['sendWebhookTest'] {
  const keyring = readKeyring(config)
  const fetch = createCheckedFetch(rulesOf(config), LIMITS)
  return (webhook, test) => sendTest({ keyring, fetch, version: config.version }, webhook, test)
}

/** Sends what waits for webhooks, to public hosts and those that the operator names. Returns how to stop. */
export function startWebhooks(
  config: Config,
  { store, watch, log, public_url }: SenderOptions,
): () => Promise<void> {
  const fetch = createCheckedFetch(rulesOf(config), LIMITS)
  const { version } = config
  return startPump({ store, watch, keyring: readKeyring(config), fetch, version, public_url, log })
}

/** Answers on GitHub for triggers, at the hosts of the secrets that they name. Returns how to stop. */
export function startGitHubReplies(
  config: Config,
  { store, watch, log, public_url }: SenderOptions,
): () => Promise<void> {
  const fetch = createCheckedFetch(rulesOf(config), { limit_ms: API_LIMIT_MS })
  const { git_hosts } = config
  return startReplies({ store, watch, keyring: readKeyring(config), fetch, git_hosts, public_url, log })
}
