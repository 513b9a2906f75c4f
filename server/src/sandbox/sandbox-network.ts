import { once } from 'node:events'
import { accessSync, closeSync, constants, statSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { startCompanion } from './companion.ts'
import { takePipes } from './pipes.ts'
import { SandboxFault } from './sandbox.ts'
import type { Launch } from './starter.ts'

const TUN = '/dev/net/tun'
/** What slirp4netns answers names at, inside. */
export const NAME_SERVER = '10.0.2.3'
const READY_LIMIT_MS = 10_000
const LOOK_MS = 2

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
  const pipes = await takePipes(['ready', 'life'])
  const ready = new Socket({ fd: pipes.ready.read, readable: true, writable: false })
  const life = new Socket({ fd: pipes.life.write, readable: false, writable: true })
  for (const stream of [ready, life]) stream.on('error', () => {})
  const words: Launch = [
    ...prefixOf(network, uid),
    ...['--configure', '--mtu=65520', '--disable-host-loopback'],
    ...['--enable-sandbox', '--enable-seccomp'],
    // It ends when the other end of this descriptor is closed, however that happens.
    ...['--ready-fd=3', '--exit-fd=4', String(pid), 'tap0'],
  ]
  const program = await startCompanion(words, [
    { at: 3, ours: pipes.ready.write, mode: 'write' },
    { at: 4, ours: pipes.life.read, mode: 'read' },
  ])
    .catch((error: unknown) => {
      for (const stream of [ready, life]) stream.destroy()
      throw error
    })
    .finally(() => {
      closeSync(pipes.ready.write)
      closeSync(pipes.life.read)
    })
  const close = () => {
    life.destroy()
    program.kill()
  }
  const ended = program.ended.then(() => {
    throw new SandboxFault(`The sandbox got no network: ${program.said}`)
  })
  ended.catch(() => {})
  try {
    await Promise.race([once(ready, 'data', { signal: AbortSignal.timeout(READY_LIMIT_MS) }), ended])
    // From here on it does not keep the service from its end: whatever uses the network does.
    program.keepAwake(false)
    life.unref()
    return {
      close,
      get is_open() {
        return !program.has_ended
      },
    }
  } catch (error) {
    close()
    if (error instanceof SandboxFault) throw error
    throw new SandboxFault('The sandbox got no network in time', { cause: error })
  } finally {
    ready.destroy()
  }
}

function isUsable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** The stack, and what starts it. */
function prefixOf({ as_root, slirp4netns, unshare, setpriv }: SandboxNetwork, uid: number | null): Launch {
  // It takes all mounts away from itself. Those that are shared, such as those of containers that are just being made, would go
  // from the machine as well.
  if (as_root) return [unshare, '--mount', '--propagation', 'private', '--', slirp4netns]
  if (uid === null) return [slirp4netns]
  return [setpriv, `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', '--', slirp4netns]
}
