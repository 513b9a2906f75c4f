import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { SandboxFault } from './sandbox.ts'

const TUN = '/dev/net/tun'
/** What slirp4netns answers names at, inside. */
export const NAME_SERVER = '10.0.2.3'
const READY_LIMIT_MS = 10_000
const LOOK_MS = 2
const MESSAGE_BYTES = 1_000

/** A way out for one network namespace. */
export interface Uplink {
  close(): void
  /** Connections can be made. It may end by itself: when memory runs out, say. */
  readonly is_open: boolean
}

/** How sandboxes with open egress get a network of their own: a user-mode TCP/IP stack beside each command. */
export interface SandboxNetwork {
  slirp4netns: string
  setpriv: string
  unshare: string
  /** Only root may open the tunnel device here, so the stack runs as root without capabilities, on an empty file system. */
  as_root: boolean
}

/** `null` where the machine cannot: sandboxes with open egress then share its network namespace. */
export function findSandboxNetwork(host: {
  slirp4netns: string | null
  setpriv: string | null
  unshare: string | null
  root: boolean
}): SandboxNetwork | null {
  const { slirp4netns, setpriv, unshare, root } = host
  if (!slirp4netns || (root && !(setpriv && unshare)) || !isUsable(TUN)) return null
  const for_everybody = (statSync(TUN).mode & 0o006) === 0o006
  return {
    ...{ slirp4netns, setpriv: setpriv ?? '', unshare: unshare ?? '' },
    as_root: root && !for_everybody,
  }
}

/**
 * Resolves once bwrap has set up the loopback interface of the process's network namespace. bwrap does not say so, and
 * slirp4netns sets it up as well: where it comes first, bwrap finds the address taken and gives up. Throws `SandboxFault`.
 */
export async function waitForLoopback(pid: number): Promise<void> {
  const since = performance.now()
  while (performance.now() - since < READY_LIMIT_MS) {
    const addresses = await readFile(`/proc/${pid}/net/fib_trie`, 'latin1').catch((error) => {
      throw new SandboxFault('The sandbox ended before it had a network', { cause: error })
    })
    if (addresses.includes('127.0.0.1')) return
    await wait(LOOK_MS)
  }
  throw new SandboxFault('The sandbox got no loopback interface in time')
}

/**
 * Connects the network namespace of the process to the machine's network, without the machine's own loopback addresses. `uid`:
 * the sandbox's user, `null` when it is the service's own. Throws `SandboxFault`.
 */
export async function connectNetwork(
  network: SandboxNetwork,
  pid: number,
  uid: number | null,
): Promise<Uplink> {
  const [file = '', ...args] = [
    ...prefixOf(network, uid),
    network.slirp4netns,
    ...['--configure', '--mtu=65520', '--disable-host-loopback'],
    ...['--enable-sandbox', '--enable-seccomp'],
    // It ends when the other end of this descriptor is closed, however that happens.
    ...['--ready-fd=3', '--exit-fd=4', String(pid), 'tap0'],
  ]
  // A session of its own: a terminal's Ctrl-C must not take the network away from a command that goes on.
  const child = spawn(file, args, {
    detached: true,
    env: {},
    cwd: '/',
    stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'],
  })
  const close = () => void child.kill('SIGKILL')
  const [ready, life] = [child.stdio[3], child.stdio[4]]
  for (const stream of [ready, life, child.stderr]) stream?.on('error', () => {})
  let said = ''
  child.stderr?.on('data', (data: Buffer) => {
    if (said.length < MESSAGE_BYTES) said += data
  })
  let is_open = true
  const ended = once(child, 'close').then(() => {
    is_open = false
    throw new SandboxFault(`The sandbox got no network: ${said.trim()}`)
  })
  ended.catch(() => {})
  try {
    if (!(ready instanceof Readable))
      throw new SandboxFault('slirp4netns was started without its descriptors')
    await Promise.race([once(ready, 'data', { signal: AbortSignal.timeout(READY_LIMIT_MS) }), ended])
    letGo(child)
    return {
      close,
      get is_open() {
        return is_open
      },
    }
  } catch (error) {
    close()
    if (error instanceof SandboxFault) throw error
    throw new SandboxFault('The sandbox got no network in time', { cause: error })
  }
}

/** From here on it does not keep the service from its end: whatever uses the network does. */
export function letGo(child: ChildProcess): void {
  child.unref()
  for (const stream of child.stdio) if (stream instanceof Socket) stream.unref()
}

function isUsable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** What the stack is started by. */
function prefixOf({ as_root, unshare, setpriv }: SandboxNetwork, uid: number | null): string[] {
  // It takes all mounts away from itself. Those that are shared, such as those of containers that are just being made, would go
  // from the machine as well.
  if (as_root) return [unshare, '--mount', '--propagation', 'private', '--']
  return uid === null ? [] : [setpriv, `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', '--']
}
