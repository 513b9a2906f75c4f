import type { Config } from './config.ts'
import { createCheckedFetch } from './gateway/checked-fetch.ts'
import { gitTokenOf } from './git-token.ts'
import { RunPulls } from './pulls/run-pulls.ts'
import type { SandboxBackend } from './sandbox/sandbox.ts'
import { readKeyring } from './secret-keys.ts'
import type { Store } from './store/db.ts'

/** Of an answer of a git host. */
const LIMIT_MS = 10_000

/** Asks git hosts for what runs opened there. `backend`: of the worker of this process, when it has one. */
export function createPulls(config: Config, store: Store, backend: SandboxBackend | null): RunPulls {
  const { private_hosts, git_hosts } = config
  const fetch = createCheckedFetch({ hosts: null, private_hosts }, { limit_ms: LIMIT_MS })
  const git_credential = backend && gitTokenOf(config, backend)
  return new RunPulls({ store, keyring: readKeyring(config), fetch, git_hosts, git_credential })
}
