import type { Logger } from 'pino'
import type { Config } from './config.ts'
import { readMailto } from './contract/webhook.ts'
import { createCheckedFetch, type FetchLimits, whyNeverAsked } from './gateway/checked-fetch.ts'
import type { EgressRules } from './gateway/gateway.ts'
import type { HttpSettings } from './http/context.ts'
import { readKeyring } from './secret-keys.ts'
import type { Store } from './store/db.ts'
import type { Watch } from './store/watch.ts'
import { MAX_AT_ONCE } from './store/webhook-deliveries.ts'
import { createMailer, type Mailer, whyNotMailed } from './webhooks/mailer.ts'
import { startPump } from './webhooks/pump.ts'
import { startReplies } from './webhooks/replies.ts'
import type { Senders } from './webhooks/send-out.ts'
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
  (url: string): string | null => {
    const mailto = readMailto(url)
    return mailto ? whyNotMailed(config.mail, mailto.domain) : whyNeverAsked(rulesOf(config), url, LIMITS)
  }

const sendersOf = (config: Config, public_url: () => string): Senders => ({
  fetch: createCheckedFetch(rulesOf(config), LIMITS),
  mail: mailerOf(config),
  version: config.version,
  public_url,
})

/** Domains are looked at with each letter: the operator may have taken one back. */
function mailerOf({ mail }: Config): Mailer | null {
  if (!mail) return null
  const send = createMailer(mail)
  return async (letter, envelope, signal) => {
    const error = whyNotMailed(mail, readMailto(`mailto:${envelope.to}`)?.domain ?? '')
    return error === null ? send(letter, envelope, signal) : { error, response_status: null, body: '' }
  }
}

/** Sends one test to a webhook, as its events are sent. */
export function createTestSender(config: Config, public_url: () => string): HttpSettings['sendWebhookTest'] {
  const senders = { ...sendersOf(config, public_url), keyring: readKeyring(config) }
  return (test) => sendTest(senders, test)
}

/** Sends what waits for webhooks: to public hosts and those that the operator names, and by the operator's mail server. Returns how to stop. */
export function startWebhooks(
  config: Config,
  { store, watch, log, public_url }: SenderOptions,
): () => Promise<void> {
  return startPump({ ...sendersOf(config, public_url), store, watch, keyring: readKeyring(config), log })
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
