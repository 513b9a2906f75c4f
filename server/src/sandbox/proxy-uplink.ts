import { readFile } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { startCompanion } from './companion.ts'
import { findProgram } from './find-program.ts'
import { PROXY_PLACE, PROXY_URL, quote, type SandboxEgress, SandboxFault } from './sandbox.ts'
import type { Uplink } from './sandbox-network.ts'

const { address: ADDRESS, port: PORT } = PROXY_PLACE
/** As `/proc/net/tcp` writes the address, followed by nobody, in the state of one that listens. */
const LISTENING = new RegExp(`0100007F:${PORT.toString(16).toUpperCase().padStart(4, '0')} 00000000:0000 0A`)
/** Connections through it at once, each a process; package managers open some twenty. */
const MAX_CONNECTIONS = 64
/** A side that is done may wait so long for the other, in seconds. */
const HALF_OPEN_SECONDS = 300
const READY_LIMIT_MS = 10_000
const LOOK_MS = 2

/** What makes a way into a network namespace that has none. */
export interface ProxyPrograms {
  nsenter: string
  setpriv: string
  socat: string
  /** Started by root, who may enter any namespace. */
  root: boolean
}

/** `null` where programs are missing: the egress policy `allowlist` is not offered then. */
export function findProxyPrograms(root: boolean): ProxyPrograms | null {
  const [nsenter, setpriv, socat] = ['nsenter', 'setpriv', 'socat'].map(findProgram)
  return nsenter && setpriv && socat ? { nsenter, setpriv, socat, root } : null
}

/**
 * What programs learn the proxy's address from: curl, git, pip, cargo and Go (either case, by program), npm and, from version
 * 24 on, Node's own `fetch`.
 */
export const PROXY_ENV: Record<string, string> = {
  ...Object.fromEntries(
    ['http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY'].map((name) => [name, PROXY_URL]),
  ),
  no_proxy: 'localhost,127.0.0.1,::1',
  NO_PROXY: 'localhost,127.0.0.1,::1',
  NODE_USE_ENV_PROXY: '1',
}

/**
 * Listens in the network namespace of the process, which needs its loopback interface and nothing else, and passes each
 * connection on to the gateway's socket, until that is closed. Resolves when it listens; throws `SandboxFault`. `join_files`:
 * where its processes join the sandbox's control group, and so its limits.
 */
export async function connectProxy(
  { nsenter, setpriv, socat, root }: ProxyPrograms,
  pid: number,
  { socket, uid, closed }: SandboxEgress,
  join_files: readonly string[] = [],
): Promise<Uplink> {
  const namespaces = `/proc/${pid}/ns`
  const enter = root ? [] : ['--preserve-credentials', `--user=${namespaces}/user`]
  const user = uid === null ? [] : [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', '--no-new-privs']
  const joining = join_files.map((file) => `echo 0 > ${quote(file)} || exit 125; `).join('')
  const program = await startCompanion([
    '/bin/sh',
    ...['-c', `${joining}exec "$@"`, 'sh', nsenter],
    ...[...enter, `--net=${namespaces}/net`, '--'],
    // It must not outlive the service.
    ...[setpriv, ...user, '--pdeathsig', 'KILL', '--'],
    ...[socat, '-t', String(HALF_OPEN_SECONDS)],
    `TCP4-LISTEN:${PORT},bind=${ADDRESS},backlog=64,fork,max-children=${MAX_CONNECTIONS}`,
    `UNIX-CONNECT:${socket}`,
  ])
  const close = () => {
    closed.removeEventListener('abort', close)
    program.kill()
  }
  if (closed.aborted) close()
  else closed.addEventListener('abort', close)
  const since = performance.now()
  let was_alone = false
  for (;;) {
    const is_alone = await hasNoSockets(pid)
    was_alone ||= is_alone
    // The first socket is the program's own.
    const is_listening = !is_alone && (was_alone || (await isListening(pid)))
    if (is_listening && !program.has_ended) {
      program.keepAwake(false)
      return {
        close,
        get is_open() {
          return !program.has_ended && !closed.aborted
        },
      }
    }
    if (program.has_ended || performance.now() - since > READY_LIMIT_MS) {
      close()
      throw new SandboxFault(`The sandbox got no way to the proxy${program.said && `: ${program.said}`}`)
    }
    await wait(LOOK_MS)
  }
}

async function hasNoSockets(pid: number): Promise<boolean> {
  return /^TCP: inuse 0 /m.test(await readNet(pid, 'sockstat'))
}

/** Costs 3 to 8 ms, since the kernel looks through the sockets of the whole machine for those of one namespace. */
async function isListening(pid: number): Promise<boolean> {
  return LISTENING.test(await readNet(pid, 'tcp'))
}

const readNet = (pid: number, name: string): Promise<string> =>
  readFile(`/proc/${pid}/net/${name}`, 'latin1').catch(() => '')
