/**
 * The gateway: a small sibling process of each worker that alone connects to other machines for sandboxes. It reads what
 * sandboxes send, so it has neither the database nor a key, and where root started it a user of its own. It reads lines of JSON
 * from the worker:
 *
 * - `open` a way out: a Unix socket with a proxy behind it that obeys these rules;
 * - `close` it, with every connection through it;
 * - `publish` a branch that was pushed by it;
 * - `settle` it: say when what was used by it is told.
 *
 * It writes lines back: `opened` or `failed`, what was `refused`, what was `published`, what models have `used`, what is `settled`. At the end of its input (the worker is gone) it goes.
 */
import { spawn } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { chownSync, lstatSync, mkdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve as resolvePath } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import type { Refusal } from './egress-rules.ts'
import type { ModelUsage } from './model-rules.ts'
import type { BranchAnswer, BranchRequest } from './publish-branch.ts'
import { openWay, type Way, type WayRules } from './way.ts'

type Order =
  | { open: string; rules: WayRules }
  | { close: string }
  | { publish: string; by: string; request: BranchRequest }
  | { settle: string }
interface News {
  opened: string
  /** This one could not be opened. */
  failed: string
  why: string
  refused: Refusal
  published: string
  answer: BranchAnswer
  /** Of models. */
  used: ModelUsage
  settled: string
  /** Which way out it is about. */
  by: string
}

/** What the gateway's process is started with. */
export interface GatewayArguments {
  /** Where its sockets are; goes with it. */
  directory: string
  /** Its user; `null`: the worker's own. */
  uid: number | null
}

/** The user of gateways that root started; those of sandboxes come after it. */
const UID = 0x5fff_ffff
const AGAIN_MS = 200
const LONGEST_AGAIN_MS = 10_000
const OPEN_MS = 15_000
/** A gateway that is told to go gets so long. */
const END_MS = 2_000
/** What is still at work at the end of a turn gets so long, and the gateway so long to say so. */
const SETTLE_MS = 1_000
const SETTLED_MS = 5_000
/** Looking up a name takes a thread until it is answered. */
const THREADS = '128'

/** One sandbox's way out. */
export interface Egress {
  /** The Unix socket that its connections go to. */
  socket: string
  /** Who may connect to it; `null`: the service's own user. */
  uid: number | null
  closed: AbortSignal
  /** Finds where a branch can be seen, and opens its pull request unless one is open. Never throws. */
  publish(request: BranchRequest): Promise<BranchAnswer>
  /**
   * Resolves when `onUsed` was told of every model that has answered; of those at work, when they end or after a second. Never
   * throws.
   */
  settle(): Promise<void>
  close(): void
}

export interface Gateway {
  /** Opens a way out. `onRefusal` is told of each target once, and of the first fifty only; `onUsed` of what models cost. */
  open(
    rules: WayRules,
    onRefusal: (refusal: Refusal) => void,
    onUsed?: (used: ModelUsage) => void,
  ): Promise<Egress>
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
  const ways = new Map<string, Way>()
  const say = (news: Partial<News>) => output.write(`${JSON.stringify(news)}\n`)
  output.on('error', () => {})
  for await (const line of createInterface({ input })) {
    const order = JSON.parse(line) as Order
    if ('close' in order) {
      ways.get(order.close)?.close()
      ways.delete(order.close)
    } else if ('publish' in order) {
      const { publish: published, by, request } = order
      const asking = ways.get(by)?.publish(request) ?? Promise.resolve(GONE)
      asking.then((answer) => say({ published, answer, by }))
    } else if ('settle' in order) {
      const idle = ways.get(order.settle)?.idle()
      Promise.race([idle, wait(SETTLE_MS)]).then(() => say({ settled: order.settle }))
    } else {
      const { open: id, rules } = order
      try {
        const tell = {
          refused: (refused: Refusal) => say({ refused, by: id }),
          used: (used: ModelUsage) => say({ used, by: id }),
        }
        ways.set(id, await openWay(join(directory, id), rules, tell.refused, tell.used))
        say({ opened: id })
      } catch (error) {
        say({ failed: id, why: String(error) })
      }
    }
  }
  rmSync(directory, { recursive: true, force: true })
}

/** A way out as the worker knows it. */
interface OpenedWay {
  rules: WayRules
  onRefusal: (refusal: Refusal) => void
  onUsed: (used: ModelUsage) => void
  opened: PromiseWithResolvers<void>
  /** Who waits until it is settled. */
  settling: Set<() => void>
  /** What was asked of it, by ids. */
  asked: Map<string, (answer: BranchAnswer) => void>
}

const GONE: BranchAnswer = { failure: 'The gateway is gone.', retryable: true }

/** A gateway's process. */
interface Life {
  /** It has ended: nobody hears what is sent. */
  readonly is_over: boolean
  send(order: Order): void
  end(): Promise<void>
}

/**
 * Starts the gateway as a process of its own when it is first needed. Should it die it is started again with what is open;
 * connections that went through it are lost. `program`: the file that calls `runGateway`.
 */
export function openGateway(program: string, log: { error(fields: object, message: string): void }): Gateway {
  const ways = new Map<string, OpenedWay>()
  const place = choosePlace()
  let life: Life | null = null
  let deaths = 0
  let closing = false

  const hear = (news: Partial<News>): void => {
    if (news.opened) {
      deaths = 0
      ways.get(news.opened)?.opened.resolve()
    } else if (news.failed) {
      // One that was open before the gateway was started again has nobody else who would say so.
      log.error({ why: news.why }, 'The gateway could not open a way out.')
      ways.get(news.failed)?.opened.reject(new Error(`The gateway could not open a way out: ${news.why}`))
    } else if (news.refused && news.by) ways.get(news.by)?.onRefusal(news.refused)
    else if (news.settled) for (const settle of ways.get(news.settled)?.settling ?? []) settle()
    else if (news.used && news.by) ways.get(news.by)?.onUsed(news.used)
    else if (news.published && news.answer && news.by)
      ways.get(news.by)?.asked.get(news.published)?.(news.answer)
  }
  const start = (): Life => {
    makePlace(place)
    const extra = process.env.NODE_EXTRA_CA_CERTS
    const child = spawn(process.execPath, [program, JSON.stringify(place)], {
      stdio: ['pipe', 'pipe', 'inherit'],
      // A session of its own: a terminal's Ctrl-C is the worker's business.
      detached: true,
      cwd: '/',
      env: { UV_THREADPOOL_SIZE: THREADS, ...(extra ? { NODE_EXTRA_CA_CERTS: resolvePath(extra) } : {}) },
    })
    child.stdin.on('error', () => {})
    const send = (order: Order) => void child.stdin.write(`${JSON.stringify(order)}\n`)
    for (const [id, { rules }] of ways) send({ open: id, rules })
    createInterface({ input: child.stdout }).on('line', (line) => hear(readNews(line)))
    const ended = new Promise<string>((resolve) => {
      child.once('error', (error) => resolve(error.message))
      child.once('exit', (code, signal) => resolve(String(signal ?? code)))
    })
    let is_over = false
    ended.then((why) => {
      is_over = true
      for (const { asked } of ways.values()) for (const settle of asked.values()) settle(GONE)
      if (!closing) startAgain(why)
    })
    return {
      get is_over() {
        return is_over
      },
      send,
      async end() {
        child.stdin.end()
        await Promise.race([ended, wait(END_MS, undefined, { ref: false })])
        child.kill('SIGKILL')
      },
    }
  }
  const startAgain = async (why: string): Promise<void> => {
    log.error({ why }, 'The gateway ended; starting it again.')
    await wait(Math.min(AGAIN_MS * 2 ** deaths++, LONGEST_AGAIN_MS), undefined, { ref: false })
    try {
      if (!closing) life = start()
    } catch (error) {
      startAgain(String(error))
    }
  }

  return {
    async open(given, onRefusal, onUsed = () => {}) {
      // Whoever cleans temporary folders may have removed it.
      makePlace(place)
      const id = randomUUID()
      const rules = { ...given, ...(given.models ? { models: { ...given.models } } : {}) }
      const way: OpenedWay = {
        ...{ rules, onRefusal, opened: Promise.withResolvers(), asked: new Map() },
        settling: new Set(),
        onUsed(used) {
          // Should the gateway be started again, it begins with what is left.
          if (rules.models && rules.models.tokens_left !== null)
            rules.models.tokens_left -= used.input_tokens + used.output_tokens
          onUsed(used)
        },
      }
      ways.set(id, way)
      const closed = new AbortController()
      const close = () => {
        if (ways.delete(id)) life?.send({ close: id })
        for (const settle of way.asked.values()) settle(GONE)
        for (const settle of way.settling) settle()
        closed.abort()
      }
      const publish = async (request: BranchRequest): Promise<BranchAnswer> => {
        if (closed.signal.aborted || !life || life.is_over) return GONE
        const asked = randomUUID()
        const { promise, resolve } = Promise.withResolvers<BranchAnswer>()
        way.asked.set(asked, resolve)
        life.send({ publish: asked, by: id, request })
        return promise.finally(() => way.asked.delete(asked))
      }
      const settle = async (): Promise<void> => {
        if (closed.signal.aborted || !life) return
        const { promise, resolve } = Promise.withResolvers<void>()
        way.settling.add(resolve)
        life.send({ settle: id })
        const late = setTimeout(resolve, SETTLED_MS)
        await promise
        clearTimeout(late)
        way.settling.delete(resolve)
      }
      if (life) life.send({ open: id, rules })
      else life = start()
      const late = setTimeout(() => way.opened.reject(new Error('The gateway does not answer.')), OPEN_MS)
      try {
        await way.opened.promise
      } catch (error) {
        close()
        throw error
      } finally {
        clearTimeout(late)
      }
      return {
        socket: join(place.directory, id),
        uid: place.uid,
        closed: closed.signal,
        publish,
        settle,
        close,
      }
    },
    async close() {
      closing = true
      await life?.end()
      rmSync(place.directory, { recursive: true, force: true })
    },
  }
}

/** A process that runs out of memory prints more than its news. */
function readNews(line: string): Partial<News> {
  try {
    return JSON.parse(line) as News
  } catch {
    return {}
  }
}

/** Paths of Unix sockets have 107 bytes at most. */
function choosePlace(): GatewayArguments {
  const uid = process.getuid?.() === 0 ? UID : null
  const name = `runyard-gateway-${randomBytes(8).toString('hex')}`
  const folder = Buffer.byteLength(tmpdir()) > 32 ? '/tmp' : tmpdir()
  return { directory: join(folder, name), uid }
}

/** Throws where somebody else has taken the place. */
function makePlace({ directory, uid }: GatewayArguments): void {
  const owner = uid ?? process.getuid?.()
  try {
    mkdirSync(directory, { mode: 0o700 })
    if (uid !== null) chownSync(directory, uid, uid)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    const found = lstatSync(directory)
    if (!found.isDirectory() || found.uid !== owner) throw new Error(`${directory} is not the gateway’s.`)
  }
}
