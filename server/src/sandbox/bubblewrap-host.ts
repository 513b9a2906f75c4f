import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { DESCRIPTORS } from './bubblewrap-process.ts'
import { findProgram } from './find-program.ts'
import { type FencePrograms, findFence } from './namespace-fence.ts'
import { findProxyPrograms, type ProxyPrograms } from './proxy-uplink.ts'
import { SandboxFault } from './sandbox.ts'
import { findSandboxNetwork, type SandboxNetwork } from './sandbox-network.ts'
import { planStaging, type Staging } from './staging.ts'

const run = promisify(execFile)

/** `--disable-userns` and `--size` are there from this version on. */
const OLDEST_BWRAP = [0, 8] as const

/** Paths of this machine, looked up once at start; the launch script runs without a PATH. */
export interface BubblewrapHost {
  bwrap: string
  setpriv: string
  unshare: string
  /** The shell commands run in: bash where the host has it. */
  shell: string
  /** The service's own Node, bound into the sandbox when it lies outside `/usr`. */
  node: string
  /** A folder of programs for agents. */
  tools: string | null
  /** Started by root: every sandbox gets a user of its own. */
  root: boolean
  staging: Staging
  /** `null`: what the kernel counts by user has no limits of the sandbox's own. */
  fence: FencePrograms | null
  /** `null`: sandboxes with open egress share the machine's network namespace. */
  network: SandboxNetwork | null
  /** `null`: the policy `allowlist` is not offered. */
  proxy: ProxyPrograms | null
  /** Descriptors the service was started with and would pass on. */
  inherited: number[]
}

/** Looks up what the backend needs; throws `SandboxFault` saying what is missing. */
export async function inspectHost(root_directory: string, tools: string | null): Promise<BubblewrapHost> {
  if (process.platform !== 'linux') throw new SandboxFault('bubblewrap runs on Linux only')
  const bwrap = findProgram('bwrap')
  if (!bwrap) throw new SandboxFault('bubblewrap is not installed')
  const version = (await run(bwrap, ['--version'])).stdout.trim()
  const [major = 0, minor = 0] = version.split(' ').at(-1)?.split('.').map(Number) ?? []
  const [oldest_major, oldest_minor] = OLDEST_BWRAP
  if (major < oldest_major || (major === oldest_major && minor < oldest_minor))
    throw new SandboxFault(`${version} is too old: ${OLDEST_BWRAP.join('.')} or later is needed`)
  const root = process.getuid?.() === 0
  const setpriv = findProgram('setpriv')
  const unshare = findProgram('unshare')
  if (root && !(setpriv && unshare)) throw new SandboxFault('util-linux is not installed')
  const node = process.execPath
  const shell = existsSync('/bin/bash') ? '/bin/bash' : '/bin/sh'
  return {
    bwrap,
    setpriv: setpriv ?? '',
    unshare: unshare ?? '',
    shell,
    node,
    tools,
    root,
    fence: await findFence({ prlimit: findProgram('prlimit'), unshare }),
    staging: planStaging(root ? [root_directory, node, npmOf(node), ...(tools ? [tools] : [])] : []),
    network: findSandboxNetwork({ slirp4netns: findProgram('slirp4netns'), setpriv, unshare, root }),
    proxy: findProxyPrograms(root),
    inherited: shell.endsWith('bash') ? inheritedDescriptors() : [],
  }
}

/** Descriptors this process was started with and its children would inherit; Node's own are closed on exec. */
function inheritedDescriptors(): number[] {
  const CLOSE_ON_EXEC = 0o2000000
  return readdirSync('/proc/self/fdinfo')
    .map(Number)
    .filter((descriptor) => {
      if (descriptor <= Math.max(...Object.values(DESCRIPTORS))) return false // Replaced at the start.
      try {
        const info = readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8')
        return (Number.parseInt(/flags:\s*(\d+)/.exec(info)?.[1] ?? '0', 8) & CLOSE_ON_EXEC) === 0
      } catch {
        return false // The descriptor that read the directory.
      }
    })
}

/** The npm that came with this Node, if any: only it and the binary are bound, never the directories around them. */
export function npmOf(node: string): string {
  return join(dirname(dirname(node)), 'lib/node_modules/npm')
}
