// @ts-check

/** @typedef {{ sequence: number, run_id: string, type: string, occurred_at: string, data: Record<string, any> }} RunEvent */
/** @typedef {{ message_id: string, offset: number, text: string }} Delta */
/** @typedef {{ event: RunEvent } | { delta: Delta }} Item */

const TYPES = [
  'run.state',
  'attempt.started',
  'attempt.lost',
  'setup',
  'message.user',
  'message.assistant',
  'reasoning',
  'tool.call',
  'tool.output',
  'tool.result',
  'followup.accepted',
  'followup.delivered',
  'approval.requested',
  'approval.answered',
  'interrupted',
  'artifact.created',
  'changes.pushed',
  'reference.reported',
  'retrying',
  'context.compacted',
  'egress.refused',
  'usage',
  'error',
]
const FIRST_WAIT_MS = 1_000
const LONGEST_WAIT_MS = 15_000

/**
 * Follows an event stream for ever, each event once and in order. The browser reconnects by itself while the service
 * is only unreachable; when it answers with an error, `mayGoOn` is asked, and the stream is opened again if it may.
 * @param {string} path
 * @param {object} options
 * @param {(item: Item) => void} options.onItem
 * @param {(is_open: boolean) => void} options.onConnection
 * @param {() => Promise<boolean>} options.mayGoOn
 */
export function followEvents(path, { onItem, onConnection, mayGoOn }) {
  let last_sequence = 0
  let wait_ms = FIRST_WAIT_MS

  const open = () => {
    const source = new EventSource(`${path}?after=${last_sequence}`)
    source.onopen = () => {
      wait_ms = FIRST_WAIT_MS
      onConnection(true)
    }
    source.onerror = (event) => {
      // The log has events called `error` too; those come as messages.
      if (event instanceof MessageEvent) return
      onConnection(false)
      if (source.readyState === EventSource.CLOSED) setTimeout(reopen, wait_ms)
    }
    for (const type of TYPES) {
      source.addEventListener(type, (message) => {
        if (!(message instanceof MessageEvent)) return
        /** @type {RunEvent} */
        const event = JSON.parse(message.data)
        if (event.sequence <= last_sequence) return
        last_sequence = event.sequence
        onItem({ event })
      })
    }
    source.addEventListener('message.assistant.delta', (message) =>
      onItem({ delta: JSON.parse(message.data) }),
    )
  }
  const reopen = async () => {
    wait_ms = Math.min(wait_ms * 2, LONGEST_WAIT_MS)
    let may_go_on = false
    try {
      may_go_on = await mayGoOn()
    } catch {
      setTimeout(reopen, wait_ms)
      return
    }
    if (may_go_on) open()
  }
  open()
}

/** What one frame may spend on new items: the rest of its 16 ms is the browser's. */
const FRAME_MS = 8

/**
 * Hands items over once a frame, and no more at a time than a frame can bear; `onFrame` ends each portion. A hidden page
 * has no frames: there a timer does it, so that its title stays right.
 * @param {object} options
 * @param {(item: Item) => void} options.onItem
 * @param {() => void} options.onFrame
 */
export function createQueue({ onItem, onFrame }) {
  /** @type {Item[]} */
  let queue = []
  let next = 0
  let is_scheduled = false
  const flush = () => {
    is_scheduled = false
    const started = performance.now()
    while (performance.now() - started < FRAME_MS) {
      const item = queue[next]
      if (!item) break
      next += 1
      onItem(item)
    }
    if (next === queue.length) {
      queue = []
      next = 0
    } else schedule()
    onFrame()
  }
  const schedule = () => {
    if (is_scheduled) return
    is_scheduled = true
    if (document.hidden) setTimeout(flush, 200)
    else requestAnimationFrame(flush)
  }
  // A frame asked for just before the page was hidden would come only when it is shown again.
  document.addEventListener('visibilitychange', () => {
    if (document.hidden && is_scheduled) setTimeout(flush, 200)
  })
  return (/** @type {Item} */ item) => {
    queue.push(item)
    schedule()
  }
}
