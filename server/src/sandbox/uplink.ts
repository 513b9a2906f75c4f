import { connectProxy, type ProxyPrograms } from './proxy-uplink.ts'
import { SandboxFault, type SandboxSpec } from './sandbox.ts'
import { connectNetwork, type SandboxNetwork, type Uplink, waitForLoopback } from './sandbox-network.ts'

/**
 * Gives the network namespace of the process what its sandbox's policy allows; `null` where that is nothing. `owner`: the
 * sandbox's user, `null` when it is the service's own, and where its control group is joined. Throws `SandboxFault`.
 */
export async function openUplink(
  host: { network: SandboxNetwork | null; proxy: ProxyPrograms | null },
  { egress, proxy }: Pick<SandboxSpec, 'egress' | 'proxy'>,
  pid: number,
  owner: { uid: number | null; join_files: readonly string[] },
): Promise<Uplink | null> {
  if (egress === 'none' || (egress === 'open' && !host.network)) return null
  await waitForLoopback(pid)
  if (egress === 'open') return host.network && connectNetwork(host.network, pid, owner.uid)
  if (!host.proxy || !proxy) throw new SandboxFault('There is no way to the proxy')
  return connectProxy(host.proxy, pid, proxy, owner.join_files)
}
