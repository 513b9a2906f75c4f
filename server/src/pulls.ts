import type { Config } from './config.ts'
import { createCheckedFetch } from './gateway/checked-fetch.ts'
import { gitTokenOf } from './git-token.ts'
import { HostRepositories } from './pulls/host-repositories.ts'
import { RunPulls } from './pulls/run-pulls.ts'
import type { SandboxBackend } from './sandbox/sandbox.ts'
import { readKeyring } from './secret-keys.ts'
import type { Store } from './store/db.ts'

/** Of an answer of a git host. */
const LIMIT_MS = 10_000

/** What asks git hosts for somebody in this process. `backend`: of its worker, when it has one. */
export function createGitHosts(
  config: Config,
  store: Store,
  backend: SandboxBackend | null,
): { pulls: RunPulls; repositories: HostRepositories } {
  const { private_hosts, git_hosts } = config
  const fetch = createCheckedFetch({ hosts: null, private_hosts }, { limit_ms: LIMIT_MS })
  const git_credential = backend && gitTokenOf(config, backend)
  const options = { store, keyring: readKeyring(config), fetch, git_hosts, git_credential }
  return { pulls: new RunPulls(options), repositories: new HostRepositories(options) }
}
