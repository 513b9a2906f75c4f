import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join, resolve as resolvePath } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'
import { describeBlock } from '../watchdog/event-loop.ts'
import type {
  BranchAnswer,
  BranchRequest,
  Gateway,
  ModelListener,
  Refusal,
  ReservedWay,
  WayRules,
} from './gateway.ts'
import { GONE, type News, type Order, writeMessage } from './gateway-pipe.ts'
import { choosePlace, makePlace, removeOldPlaces } from './gateway-place.ts'

const AGAIN_MS = 200
const LONGEST_AGAIN_MS = 10_000
const OPEN_MS = 15_000
/** A gateway that is told to go gets so long. */
const END_MS = 2_000
/** The gateway gets so long to say that it is settled. */
const SETTLED_MS = 5_000
/** Looking up a name takes a thread until it is answered. */
const THREADS = '128'

/** A way out as the worker knows it. */
interface OpenedWay {
  rules: WayRules
  onRefusal: (refusal: Refusal) => void
  models: ModelListener
  opened: PromiseWithResolvers<void>
  /** Who waits until it is settled. */
  settling: Set<() => void>
  /** What was asked of it, by ids. */
  asked: Map<string, (answer: BranchAnswer) => void>
}

interface GatewayLog {
  error(fields: object, message: string): void
  /** Hears what kept the gateway busy. */
  warn?(fields: object, message: string): void
}

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
export function openGateway(program: string, log: GatewayLog): Gateway {
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
    else if (news.blocked) {
      const [fields, message] = describeBlock(news.blocked)
      log.warn?.({ ...fields, process: 'gateway' }, message)
    } else if (news.settled) for (const settle of ways.get(news.settled)?.settling ?? []) settle()
    else if (news.used && news.by) ways.get(news.by)?.models.onUsed(news.used)
    else if (news.called && news.by) ways.get(news.by)?.models.onCall(news.called)
    else if (news.published && news.answer && news.by)
      ways.get(news.by)?.asked.get(news.published)?.(news.answer)
  }
  const start = (): Life => {
    makePlace(place)
    removeOldPlaces(place).catch(() => {})
    const { NODE_EXTRA_CA_CERTS: extra, NODE_COMPILE_CACHE } = process.env
    const child = spawn(process.execPath, [program, JSON.stringify(place)], {
      stdio: ['pipe', 'pipe', 'inherit'],
      // A session of its own: a terminal's Ctrl-C is the worker's business.
      detached: true,
      cwd: '/',
      env: {
        UV_THREADPOOL_SIZE: THREADS,
        ...(extra ? { NODE_EXTRA_CA_CERTS: resolvePath(extra) } : {}),
        ...(NODE_COMPILE_CACHE ? { NODE_COMPILE_CACHE } : {}),
      },
    })
    child.stdin.on('error', () => {})
    const send = (order: Order) => void child.stdin.write(writeMessage(order))
    for (const [id, { rules }] of ways) send({ open: id, rules })
    createInterface({ input: child.stdout }).on('line', (line) => hear(readNews(line)))
    const ended = new Promise<string>((resolve) => {
      child.once('error', (error) => resolve(error.message))
      child.once('exit', (code, signal) => resolve(String(signal ?? code)))
    })
    let is_over = false
    ended.then((why) => {
      is_over = true
      for (const { asked, settling } of ways.values()) {
        for (const settle of asked.values()) settle(GONE)
        for (const settle of settling) settle()
      }
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
        await Promise.race([ended, wait(END_MS, undefined, { ref: false })])
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

  const openNamed: (id: string, name: Omit<ReservedWay, 'open'>) => ReservedWay['open'] =
    (id, name) =>
    async (given, onRefusal, listener = {}) => {
      // Whoever cleans temporary folders may have removed it.
      makePlace(place)
      const rules = { ...given, ...(given.models ? { models: { ...given.models } } : {}) }
      const way: OpenedWay = {
        ...{ rules, onRefusal, opened: Promise.withResolvers(), asked: new Map() },
        settling: new Set(),
        models: {
          onUsed(used) {
            // Should the gateway be started again, it begins with what is left.
            if (rules.models && rules.models.tokens_left !== null)
              rules.models.tokens_left -= used.input_tokens + used.output_tokens
            listener.onUsed?.(used)
          },
          onCall: (call) => listener.onCall?.(call),
        },
      }
      ways.set(id, way)
      const publish = async (request: BranchRequest): Promise<BranchAnswer> => {
        if (name.closed.aborted || !life || life.is_over) return GONE
        const asked = randomUUID()
        const { promise, resolve } = Promise.withResolvers<BranchAnswer>()
        way.asked.set(asked, resolve)
        life.send({ publish: asked, by: id, request })
        return promise.finally(() => way.asked.delete(asked))
      }
      const settle = async (): Promise<void> => {
        if (name.closed.aborted || !life || life.is_over) return
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
        name.close()
        throw error
      } finally {
        clearTimeout(late)
      }
      return {
        ...name,
        publish,
        settle,
        limit(tokens_left) {
          if (rules.models) rules.models.tokens_left = tokens_left
          if (!name.closed.aborted) life?.send({ limit: id, tokens_left })
        },
      }
    }
  const reserve = (): ReservedWay => {
    const id = randomUUID()
    const closed = new AbortController()
    const close = () => {
      const way = ways.get(id)
      if (ways.delete(id)) life?.send({ close: id })
      for (const settle of way?.asked.values() ?? []) settle(GONE)
      for (const settle of way?.settling ?? []) settle()
      closed.abort()
    }
    const name = { socket: join(place.directory, id), uid: place.uid, closed: closed.signal, close }
    return { ...name, open: openNamed(id, name) }
  }

  return {
    open: (...given) => reserve().open(...given),
    reserve,
    async close() {
      closing = true
      await life?.end()
      await removeOldPlaces(place).catch(() => {})
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
