/**
 * The gateway: a small sibling process of each worker that alone connects to other machines for sandboxes. It reads what
 * sandboxes send, so it has neither the database nor a key, and where root started it a user of its own. It reads lines of JSON
 * from the worker:
 *
 * - `open` a way out: a Unix socket with a proxy behind it that obeys these rules;
 * - `close` it, with every connection through it.
 *
 * It writes lines back: `opened`, and what was `refused`. At the end of its input (the worker is gone) it goes.
 */
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { chownSync, mkdtempSync, rmSync } from 'node:fs'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import { createEgressProxy } from './egress-proxy.ts'
import type { EgressRules, Refusal } from './egress-rules.ts'

type Order = { open: string; rules: EgressRules } | { close: string }
type News = { opened: string } | { refused: Refusal; by: string }

/** What the gateway's process is started with. */
export interface GatewayArguments {
  /** Where its sockets are; goes with it. */
  directory: string
  /** Its user; `null`: the worker's own. */
  uid: number | null
}

/** The user of gateways that root started; those of sandboxes come after it. */
const UID = 0x5fff_ffff
/** Names of hosts are the agent's words: no more of them than somebody would read. */
const MAX_REFUSALS = 50
const AGAIN_MS = 200

/** One sandbox's way out. */
export interface Egress {
  /** The Unix socket that its connections go to. */
  socket: string
  /** Who may connect to it; `null`: the service's own user. */
  uid: number | null
  close(): void
}

export interface Gateway {
  /** Opens a way out. `onRefusal` is told of each target once, and of the first fifty only. */
  open(rules: EgressRules, onRefusal: (refusal: Refusal) => void): Promise<Egress>
  close(): Promise<void>
}

/** The gateway's side. Resolves when its input has ended. */
export async function runGateway(
  { directory, uid }: GatewayArguments,
  { input, output }: { input: Readable; output: Writable },
): Promise<void> {
  process.umask(0o077)
  if (uid !== null) {
    process.setgroups?.([])
    process.setgid?.(uid)
    process.setuid?.(uid)
  }
  const ways = new Map<string, { close(): void }>()
  const say = (news: News) => output.write(`${JSON.stringify(news)}\n`)
  output.on('error', () => {})
  for await (const line of createInterface({ input })) {
    const order = JSON.parse(line) as Order
    if ('close' in order) {
      ways.get(order.close)?.close()
      ways.delete(order.close)
    } else {
      const { open: id, rules } = order
      ways.set(id, await openWay(join(directory, id), rules, (refused) => say({ refused, by: id })))
      say({ opened: id })
    }
  }
  rmSync(directory, { recursive: true, force: true })
}

async function openWay(path: string, rules: EgressRules, onRefusal: (refusal: Refusal) => void) {
  const told = new Set<string>()
  const proxy = createEgressProxy(rules, (refusal) => {
    const key = JSON.stringify(refusal)
    if (told.has(key) || told.size === MAX_REFUSALS) return
    told.add(key)
    onRefusal(refusal)
  })
  const sockets = new Set<Socket>()
  proxy.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  // Of a gateway that was killed.
  rmSync(path, { force: true })
  proxy.listen(path)
  await once(proxy, 'listening')
  return {
    close() {
      proxy.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

interface Way {
  rules: EgressRules
  onRefusal: (refusal: Refusal) => void
  opened: PromiseWithResolvers<void>
}

/**
 * Starts the gateway as a process of its own when it is first needed. Should it die it is started again with what is open;
 * connections that went through it are lost. `program`: the file that calls `runGateway`.
 */
export function openGateway(program: string, log: { error(fields: object, message: string): void }): Gateway {
  const ways = new Map<string, Way>()
  let life: { given: GatewayArguments; send(order: Order): void; end(): Promise<void> } | null = null
  let closing = false

  const start = (given: GatewayArguments): NonNullable<typeof life> => {
    const child = spawn(process.execPath, [program, JSON.stringify(given)], {
      stdio: ['pipe', 'pipe', 'inherit'],
      // A session of its own: a terminal's Ctrl-C is the worker's business.
      detached: true,
      cwd: '/',
      // Looking up a name takes a thread until it is answered.
      env: { UV_THREADPOOL_SIZE: '64' },
    })
    child.stdin.on('error', () => {})
    const send = (order: Order) => void child.stdin.write(`${JSON.stringify(order)}\n`)
    for (const [id, { rules }] of ways) send({ open: id, rules })
    createInterface({ input: child.stdout }).on('line', (line) => {
      const news = JSON.parse(line) as News
      if ('opened' in news) ways.get(news.opened)?.opened.resolve()
      else ways.get(news.by)?.onRefusal(news.refused)
    })
    const ended = new Promise<string>((resolve) => {
      child.once('error', (error) => resolve(error.message))
      child.once('exit', (code, signal) => resolve(String(signal ?? code)))
    }).then(async (why) => {
      if (closing) return
      log.error({ why }, 'The gateway ended; starting it again.')
      await wait(AGAIN_MS, undefined, { ref: false })
      if (!closing) life = start(given)
    })
    return {
      given,
      send,
      async end() {
        child.stdin.end()
        await ended
      },
    }
  }

  return {
    async open(rules, onRefusal) {
      const id = randomUUID()
      const opened = Promise.withResolvers<void>()
      ways.set(id, { rules, onRefusal, opened })
      if (life) life.send({ open: id, rules })
      else life = start(makePlace())
      await opened.promise
      return {
        socket: join(life.given.directory, id),
        uid: life.given.uid,
        close() {
          if (ways.delete(id)) life?.send({ close: id })
        },
      }
    },
    async close() {
      closing = true
      await life?.end()
      if (life) rmSync(life.given.directory, { recursive: true, force: true })
    },
  }
}

function makePlace(): GatewayArguments {
  const uid = process.getuid?.() === 0 ? UID : null
  const directory = mkdtempSync(join(tmpdir(), 'runyard-gateway-'))
  if (uid !== null) chownSync(directory, uid, uid)
  return { directory, uid }
}
