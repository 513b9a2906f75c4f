import { Socket } from 'node:net'
import { Writable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import WebSocket from 'ws'
import { exitOfShell } from './exec-handle.ts'
import { type KubernetesApi, retryWhileAway, toError } from './kubernetes-api.ts'
import { MarkerFinder } from './marker-finder.ts'
import { SandboxFault } from './sandbox.ts'

/** Of the protocol's version 5, the first that can end standard input alone. */
const PROTOCOL = 'v5.channel.k8s.io'
const STDIN = 0
const STDOUT = 1
const STDERR = 2
const STATUS = 3
const CLOSE = 255
const CONNECT_LIMIT_MS = 15_000
/** Load balancers cut connections on which nothing is said. */
const PING_MS = 20_000
/** Messages larger than this are sent in parts. */
const MAX_MESSAGE_BYTES = 64 * 1024

type Deliver = (stream: 'stdout' | 'stderr', data: Buffer) => Promise<void>

interface Status {
  status?: string
  reason?: string
  message?: string
  details?: { causes?: Array<{ reason?: string; message?: string }> }
}

/** A process that the kubelet started in a running container, and its three streams over one WebSocket. */
export class PodExec {
  /** Its standard input. */
  readonly input: Writable
  /** How the process ended. Rejects with `SandboxFault` where that is not known. */
  readonly ended: Promise<{ code: number | null; signal: string | null }>
  readonly #socket: WebSocket
  readonly #below: Socket | null
  readonly #early: Buffer[] = []
  #take: ((message: Buffer) => void) | null = null
  #status: Status | null = null
  #is_input_closed = false
  readonly #closed: Promise<void>

  constructor(socket: WebSocket, below: Socket | null) {
    this.#socket = socket
    this.#below = below
    this.#closed = new Promise((resolve) => socket.once('close', () => resolve()))
    socket.on('error', () => {})
    socket.on('message', (data: Buffer) => (this.#take ? this.#take(data) : this.#early.push(data)))
    const pinging = setInterval(() => socket.ping(), PING_MS).unref()
    this.ended = this.#closed.then(() => {
      clearInterval(pinging)
      return readStatus(this.#status)
    })
    this.ended.catch(() => {})
    this.input = new Writable({
      highWaterMark: MAX_MESSAGE_BYTES,
      write: (data: Buffer, _encoding, callback) => this.#send(data, callback),
      final: (callback) => {
        this.#closeInput()
        callback()
      },
    })
    this.input.on('error', () => {})
    this.#closed.then(() => this.input.destroy())
  }

  /**
   * Hands over what the process prints and waits each time. Resolves when it has ended, however that came. `marker` is left out
   * of its standard output: whoever says it wants no more input.
   */
  async read(deliver: Deliver, marker?: string): Promise<void> {
    let finder = marker === undefined ? null : new MarkerFinder(Buffer.from(`\x1e${marker}`))
    const pass: Deliver = async (stream, data) => {
      if (stream === 'stderr' || !finder) return deliver(stream, data)
      const { before, behind } = finder.find(data)
      if (before.length > 0) await deliver(stream, before)
      if (behind === null) return
      finder = null
      this.#closeInput()
      this.input.destroy()
      if (behind.length > 0) await deliver(stream, behind)
    }
    let last: Promise<void> = Promise.resolve()
    let waiting = 0
    this.#take = (message) => {
      const channel = message[0]
      const data = message.subarray(1)
      if (channel === STATUS) this.#status = parseStatus(data)
      if ((channel !== STDOUT && channel !== STDERR) || data.length === 0) return
      waiting += 1
      this.#socket.pause()
      last = last
        .then(() => pass(channel === STDERR ? 'stderr' : 'stdout', data))
        .catch(() => {})
        .then(() => {
          waiting -= 1
          if (waiting === 0) this.#socket.resume()
        })
    }
    for (const message of this.#early.splice(0)) this.#take(message)
    await this.#closed
    await last
    const held = finder?.rest()
    if (held?.length) await deliver('stdout', held)
  }

  /** Gives up the connection; the process may go on. */
  cut(): void {
    this.#socket.terminate()
  }

  /** Whether it keeps the service from its end. */
  keepAwake(awake: boolean): void {
    awake ? this.#below?.ref() : this.#below?.unref()
  }

  #closeInput(): void {
    if (this.#is_input_closed || this.#socket.readyState !== WebSocket.OPEN) return
    this.#is_input_closed = true
    this.#socket.send(Buffer.from([CLOSE, STDIN]), () => {})
  }

  #send(data: Buffer, callback: (error?: Error | null) => void): void {
    if (this.#is_input_closed || this.#socket.readyState !== WebSocket.OPEN) {
      callback(new Error('the process has ended'))
      return
    }
    const part = data.subarray(0, MAX_MESSAGE_BYTES)
    const rest = data.subarray(part.length)
    this.#socket.send(Buffer.concat([Buffer.from([STDIN]), part]), (error) =>
      error || rest.length === 0 ? callback(error) : this.#send(rest, callback),
    )
  }
}

/**
 * Starts a program in a container of the Pod, again while the API server is away. Throws `KubernetesError` where it refuses,
 * `SandboxFault` where it is not reached.
 */
export async function startPodExec(
  api: KubernetesApi,
  pod: { name: string; container: string },
  command: readonly string[],
  away_limit_ms: number,
): Promise<PodExec> {
  return retryWhileAway(() => connect(api, pod, command), away_limit_ms)
}

async function connect(
  api: KubernetesApi,
  { name, container }: { name: string; container: string },
  command: readonly string[],
): Promise<PodExec> {
  const address = api.address(api.path(`pods/${name}/exec`))
  address.protocol = address.protocol.replace('http', 'ws')
  for (const word of command) address.searchParams.append('command', word)
  for (const stream of ['stdin', 'stdout', 'stderr']) address.searchParams.set(stream, 'true')
  address.searchParams.set('container', container)
  const socket = new WebSocket(address, PROTOCOL, {
    ...api.access.tls,
    headers: await api.access.authorize(),
    handshakeTimeout: CONNECT_LIMIT_MS,
    perMessageDeflate: false,
  })
  let below: Socket | null = null
  socket.once('upgrade', (answer) => {
    if (answer.socket instanceof Socket) below = answer.socket
  })
  return new Promise((resolve, reject) => {
    socket.once('error', reject)
    socket.once('unexpected-response', (request, answer) => {
      buffer(answer)
        .then((bytes) => reject(toError(answer.statusCode ?? 0, bytes.toString())), reject)
        // The connection would be kept for a next request, and with it the process.
        .finally(() => request.destroy())
    })
    socket.once('open', () => {
      socket.off('error', reject)
      resolve(new PodExec(socket, below))
    })
  })
}

function parseStatus(data: Buffer): Status | null {
  try {
    return JSON.parse(data.toString()) as Status
  } catch {
    return null
  }
}

/** What Kubernetes says of a process that has ended. Throws `SandboxFault` where it ended in no such way. */
export function readStatus(status: Status | null): { code: number | null; signal: string | null } {
  if (status === null) throw new SandboxFault('The connection to the Pod broke while a command ran in it')
  if (status.status === 'Success') return { code: 0, signal: null }
  const code = status.details?.causes?.find(({ reason }) => reason === 'ExitCode')?.message
  if (status.reason === 'NonZeroExitCode' && code !== undefined) return exitOfShell(Number(code))
  throw new SandboxFault(explainRefusal(status.message ?? 'no reason was given'))
}

/** A program that is missing is told as an internal error, not by an exit code. */
function explainRefusal(message: string): string {
  if (/executable file not found|no such file or directory/i.test(message))
    return 'The image of the Pod has no /bin/sh, which commands need'
  return `The kubelet could not run the command: ${message}`
}
