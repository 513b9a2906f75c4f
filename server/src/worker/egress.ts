import type { EnvironmentConfig } from '../contract/environment.ts'
import { repositoriesOf } from '../contract/environment-repositories.ts'
import type { EgressPolicy } from '../sandbox/sandbox.ts'
import type { WorkerContext } from './context.ts'

/** From the narrowest to the widest. */
const POLICIES: readonly EgressPolicy[] = ['none', 'allowlist', 'open']

/** Where package managers look unless they are told otherwise. */
const PACKAGE_REGISTRIES = [
  // npm, pnpm, Yarn, Bun, Deno
  ...['registry.npmjs.org', 'registry.yarnpkg.com', 'repo.yarnpkg.com', 'jsr.io', 'npm.jsr.io', 'deno.land'],
  // Python
  ...['pypi.org', 'files.pythonhosted.org'],
  // Rust, Go, Ruby, PHP, .NET, Elixir
  ...['crates.io', 'index.crates.io', 'static.crates.io', 'proxy.golang.org', 'sum.golang.org'],
  ...['rubygems.org', 'index.rubygems.org', 'repo.packagist.org', 'api.nuget.org', 'hex.pm', 'repo.hex.pm'],
  // Java
  ...['repo.maven.apache.org', 'repo1.maven.org', 'plugins.gradle.org', 'services.gradle.org'],
  // Systems
  ...['deb.debian.org', 'security.debian.org', 'archive.ubuntu.com', 'security.ubuntu.com'],
  ...['ports.ubuntu.com', 'dl-cdn.alpinelinux.org'],
]

/**
 * What the network lets out of a run's sandbox, or why the run cannot have what its environment asks for. `hosts`: with
 * `allowlist`, those that its proxy lets through; `null`: every public one.
 */
export type EgressPlan = { policy: EgressPolicy; hosts: string[] | null } | { refusal: string }

/** `by_gateway`: what goes by the gateway, which needs a way to it, whatever else is let out. */
export function planEgress(
  config: EnvironmentConfig,
  { backend, settings }: WorkerContext,
  by_gateway: { git: boolean; models: boolean },
): EgressPlan {
  const needs_gateway = by_gateway.git || by_gateway.models
  const offered = backend.capabilities.egress
  const widest = POLICIES.indexOf(settings.egress)
  const addresses = repositoriesOf(config).flatMap(({ url }) => (url ? [new URL(url)] : []))
  const chooses = (): EgressPolicy => {
    // The host's own commands: whoever chose it said that it isolates nothing.
    if (!offered.includes('none')) return 'open'
    if (offered.includes('allowlist') && widest >= POLICIES.indexOf('allowlist')) return 'allowlist'
    return addresses.length > 0 && !by_gateway.git ? 'open' : 'none'
  }
  const policy = config.egress ?? chooses()
  if (POLICIES.indexOf(policy) > widest && offered.includes('none'))
    return {
      refusal: `The environment needs the network; the operator allows it with RUNYARD_EGRESS=${policy}.`,
    }
  const has_proxy = offered.includes('allowlist')
  if (policy === 'allowlist' && !has_proxy)
    return {
      refusal: `The ${backend.name} sandbox of this worker has no lists of allowed hosts: /readyz says why.`,
    }
  if (needs_gateway && !has_proxy)
    return {
      refusal: `The ${backend.name} sandbox of this worker has no way to the gateway, which alone ${by_gateway.git ? 'uses secrets for git' : 'calls models for commands'}: /readyz says why.`,
    }
  if (policy === 'none') return { policy: needs_gateway ? 'allowlist' : 'none', hosts: [] }
  if (policy === 'open') return { policy: has_proxy ? 'allowlist' : 'open', hosts: null }
  const registries = config.package_registries === false ? [] : PACKAGE_REGISTRIES
  const hosts = [...addresses.map(({ host }) => host), ...registries, ...(config.allowed_hosts ?? [])]
  return { policy, hosts: [...new Set(hosts)] }
}

/**
 * Where a run's tool servers may be, as `EgressPlan.hosts`. Whoever asks for the run names them: their hosts are let through,
 * for them alone, unless the environment says itself how far its runs may go.
 */
export function planToolHosts(
  config: EnvironmentConfig,
  { backend, settings }: WorkerContext,
  hosts: string[] | null,
  urls: readonly string[],
): string[] | null {
  const allowed = POLICIES.indexOf(settings.egress) >= POLICIES.indexOf('allowlist')
  if (hosts === null || config.egress !== undefined) return hosts
  // Where nothing is isolated, commands go anywhere anyhow.
  if (!allowed && backend.capabilities.egress.includes('none')) return hosts
  return [...hosts, ...urls.map((url) => new URL(url).host)]
}
