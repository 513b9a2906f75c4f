import type { Logger } from 'pino'
import type { Config } from './config.ts'
import { createCheckedFetch } from './gateway/checked-fetch.ts'
import { readKeyring } from './secret-keys.ts'
import type { Store } from './store/db.ts'
import { MAX_AT_ONCE, startPump } from './webhooks/pump.ts'
import { startReplies } from './webhooks/replies.ts'

const LIMIT_MS = 15_000
/** Of an answer of GitHub. */
const API_LIMIT_MS = 20_000
/** Nobody reads what a receiver says. */
const MAX_BYTES = 64 * 1024

/** Sends what waits for webhooks, to public hosts and those that the operator names. Returns how to stop. */
export function startWebhooks(config: Config, store: Store, log: Logger): () => Promise<void> {
  const fetch = createCheckedFetch(
    { hosts: null, private_hosts: config.private_hosts },
    // Each request may be to a name of its own.
    { plain: true, limit_ms: LIMIT_MS, max_bytes: MAX_BYTES, status_alone: true, max_lookups: MAX_AT_ONCE },
  )
  return startPump({ store, keyring: readKeyring(config), fetch, version: config.version, log })
}

/** Answers on GitHub for triggers, at the hosts of the secrets that they name. Returns how to stop. */
export function startGitHubReplies(
  config: Config,
  { store, log, public_url }: { store: Store; log: Logger; public_url: () => string },
): () => Promise<void> {
  const fetch = createCheckedFetch(
    { hosts: null, private_hosts: config.private_hosts },
    { limit_ms: API_LIMIT_MS },
  )
  const { git_hosts } = config
  return startReplies({ store, keyring: readKeyring(config), fetch, git_hosts, public_url, log })
}
