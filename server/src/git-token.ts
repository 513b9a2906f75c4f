import type { Config } from './config.ts'
import type { GitCredential } from './gateway/gateway.ts'
import type { SandboxBackend } from './sandbox/sandbox.ts'

/** What RUNYARD_GIT_TOKEN gives to every environment; `null` where there is none, or sandboxes have no way to the git gateway. */
export function gitTokenOf({ git_token }: Config, backend: SandboxBackend): GitCredential | null {
  if (!git_token || !backend.capabilities.egress.includes('allowlist')) return null
  const { host, username, token: secret } = git_token
  return {
    ...{ name: 'RUNYARD_GIT_TOKEN', host, username, secret },
    ...{ repositories: null, read_only: false, app: null },
  }
}
