import {
  APIUserAbortError,
  type RunItem,
  type RunStreamEvent,
  type Runyard,
  RunyardError,
} from '@runyard/client'
import { useEffect, useState, useSyncExternalStore } from 'react'
import { useGoneRuns } from '../runs/deletions.ts'
import { SessionLog, type SessionView } from './session-log.ts'

/** What one frame may spend on new events: the rest of its 16 ms is the browser's. */
const FRAME_MS = 8
/** A hidden page has no frames: there a timer does it, so that its title stays right. */
const HIDDEN_MS = 200

export interface Feed {
  view: SessionView
  /** `lost`: the events are being asked for again. `over`: they cannot be had; `error` says why. */
  connection: 'opening' | 'open' | 'lost' | 'over'
  error: RunyardError | undefined
}

/** Follows a run for ever, and hands its events over once a frame, no more at a time than a frame can bear. */
class SessionFeed {
  #feed: Feed
  readonly #log: SessionLog
  readonly #listeners = new Set<() => void>()
  readonly #abort = new AbortController()
  #queue: RunStreamEvent[] = []
  #next = 0
  #is_scheduled = false

  constructor(client: Runyard, run: RunItem) {
    this.#log = new SessionLog(run.creator.display_name ?? '', run, Date.now())
    this.#feed = { view: this.#log.view, connection: 'opening', error: undefined }
    this.#follow(client, run.run_id)
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
  readonly read = (): Feed => this.#feed
  close(): void {
    this.#abort.abort()
  }

  async #follow(client: Runyard, run_id: string): Promise<void> {
    const { signal } = this.#abort
    try {
      const events = client.runs.stream(run_id, {
        follow: true,
        signal,
        // A page that was left open overnight goes on by itself.
        maxRetries: Number.MAX_SAFE_INTEGER,
        maxReconnects: Number.MAX_SAFE_INTEGER,
        onConnection: ({ state }) => this.#change({ connection: state === 'lost' ? 'lost' : 'open' }),
      })
      for await (const event of events) this.#enqueue(event)
    } catch (error) {
      if (error instanceof APIUserAbortError) return
      if (!(error instanceof RunyardError)) throw error
      this.#change({ connection: 'over', error })
    }
  }

  #enqueue(event: RunStreamEvent): void {
    this.#queue.push(event)
    if (this.#feed.connection === 'opening') this.#feed = { ...this.#feed, connection: 'open' }
    this.#schedule()
  }

  #schedule(): void {
    if (this.#is_scheduled) return
    this.#is_scheduled = true
    if (document.hidden) setTimeout(this.#flush, HIDDEN_MS)
    else {
      // A frame asked for just before the page was hidden would come only when it is shown again.
      const frame = requestAnimationFrame(() => {
        clearTimeout(timer)
        this.#flush()
      })
      const timer = setTimeout(() => {
        cancelAnimationFrame(frame)
        this.#flush()
      }, HIDDEN_MS)
    }
  }

  readonly #flush = (): void => {
    this.#is_scheduled = false
    const started = performance.now()
    while (performance.now() - started < FRAME_MS) {
      const event = this.#queue[this.#next]
      if (!event) break
      this.#next += 1
      this.#log.apply(event)
    }
    if (this.#next < this.#queue.length) {
      this.#schedule()
      return
    }
    this.#queue = []
    this.#next = 0
    this.#change({ view: this.#log.view })
  }

  #change(change: Partial<Feed>): void {
    this.#feed = { ...this.#feed, ...change }
    for (const listener of this.#listeners) listener()
  }
}

const NOTHING = { subscribe: () => () => {}, read: () => undefined }

/** The live session of a run; undefined until the first portion is there. It stands still while the run is being deleted. */
export function useSessionFeed(client: Runyard, run: RunItem, is_current: boolean): Feed | undefined {
  const [feed, setFeed] = useState<SessionFeed>()
  // The state it is opened in tells old ends from new ones, so it must not be what an earlier visit has read.
  const [is_ready, setReady] = useState(is_current)
  if (is_current && !is_ready) setReady(true)
  const { run_id } = run
  const is_gone = useGoneRuns().has(run_id)
  // biome-ignore lint/correctness/useExhaustiveDependencies: a run that is read again is the same run.
  useEffect(() => {
    if (is_gone || !is_ready) return
    const opened = new SessionFeed(client, run)
    setFeed(opened)
    return () => opened.close()
  }, [client, run_id, is_gone, is_ready])
  return useSyncExternalStore<Feed | undefined>(
    feed?.subscribe ?? NOTHING.subscribe,
    feed?.read ?? NOTHING.read,
  )
}
