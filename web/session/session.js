// @ts-check
import { signIn, useLink } from './access.js'
import { Conversation } from './conversation.js'
import { byId } from './dom.js'
import { createQueue, followEvents } from './feed.js'
import { RunHeader } from './run-header.js'

/** Where this session's data is: the cookie goes to these paths only. */
const base = location.pathname

/** @type {Record<string, string>} */
const ACTIVITIES = {
  QUEUED: 'Waiting for a free worker',
  CLAIMED: 'Preparing the sandbox',
  INPROGRESS: 'Working',
  BLOCKED: 'Send a follow-up to go on',
}

/**
 * The run; signs in first where that is needed.
 * @returns {Promise<{ run: import('./run-header.js').Run, clock_ahead_ms: number }>}
 */
async function readRun() {
  let reason = await useLink(base)
  for (;;) {
    const answer = await fetch(`${base}/run`, { cache: 'no-store' })
    if (answer.ok) {
      const date = Date.parse(answer.headers.get('date') ?? '')
      // Times in the log are the service's; this reader's clock may differ.
      const ahead = Number.isNaN(date) ? 0 : Date.now() - date
      return { run: await answer.json(), clock_ahead_ms: Math.abs(ahead) < 2000 ? 0 : ahead }
    }
    if (answer.status !== 401) {
      const problem = await answer.json().catch(() => null)
      throw new Error(problem?.detail ?? `The service answered ${answer.status}.`)
    }
    await signIn(base, reason ?? '')
    reason = undefined
  }
}

async function main() {
  const { run, clock_ahead_ms } = await readRun()
  const creator = run.creator?.display_name ?? ''
  const header = new RunHeader(run)
  const conversation = new Conversation(
    { log: byId('log'), drafts: byId('drafts'), waiting: byId('waiting') },
    creator,
  )
  // A run that goes on is followed; one that has ended is read from the top.
  const scroll = keepAtEnd(!['SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED'].includes(run.state))
  const opened_at = Date.now() - clock_ahead_ms
  let has_news = false
  let lacks_agent = !run.resolved
  const tick = () => {
    const now = Date.now() - clock_ahead_ms
    header.tick(now)
    conversation.tick(now)
  }
  const onFrame = () => {
    const before = header.state
    const news = conversation.settle()
    header.settle()
    showActivity(before, conversation.running_tool)
    if (lacks_agent && !['QUEUED', 'CLAIMED'].includes(header.state)) {
      lacks_agent = false
      learnAgent(header)
    }
    if (news) byId('announcer').textContent = news
    tick()
    if (has_news) scroll.addNews()
    has_news = false
  }
  byId('session').hidden = false
  header.settle()
  tick()
  setInterval(tick, 1000)

  const add = createQueue({
    onItem: (item) => {
      if ('delta' in item) {
        has_news = true
        conversation.applyDelta(item.delta)
      } else {
        has_news ||= Date.parse(item.event.occurred_at) > opened_at
        header.apply(item.event)
        conversation.apply(item.event)
      }
    },
    onFrame,
  })
  followEvents(`${base}/events`, {
    onItem: add,
    onConnection: (is_open) => {
      byId('connection').hidden = is_open
      byId('connection').textContent = is_open ? '' : 'Reconnecting…'
    },
    mayGoOn: async () => {
      const answer = await fetch(`${base}/run`, { cache: 'no-store' })
      if (answer.ok) return true
      // Signed out, or gone: starting over says which, and what to do.
      if (answer.status === 401 || answer.status === 404) location.reload()
      else throw new Error(`The service answered ${answer.status}.`)
      return false
    },
  })
}

/**
 * What the run is executed with is known once it has started. Without an answer the page goes on as it is.
 * @param {RunHeader} header
 */
async function learnAgent(header) {
  const answer = await fetch(`${base}/run`, { cache: 'no-store' }).catch(() => null)
  if (answer?.ok) header.resolve((await answer.json()).resolved)
}

/**
 * @param {string} state
 * @param {string | undefined} tool
 */
function showActivity(state, tool) {
  const place = byId('activity')
  const text = ACTIVITIES[state] ?? ''
  const shown = state === 'INPROGRESS' && tool ? `${text}: ${tool}` : text
  place.hidden = shown === ''
  place.dataset.state = state
  if (place.textContent !== shown) place.textContent = shown
}

/**
 * Keeps a reader who is at the end of the page there, however it grows; anyone else is told that there is more.
 * @param {boolean} from_the_start Whether the reader begins at the end.
 */
function keepAtEnd(from_the_start) {
  const latest = byId('latest')
  const root = document.documentElement
  let is_at_end = from_the_start
  let height = 0
  const toEnd = () => window.scrollTo({ top: root.scrollHeight })
  window.addEventListener('scroll', () => {
    is_at_end = window.scrollY + window.innerHeight >= height - 48
    if (is_at_end) latest.hidden = true
  })
  latest.addEventListener('click', toEnd)
  // Entries that come near the screen get their true height only then, so new text is not all that makes it grow.
  new ResizeObserver(() => {
    height = root.scrollHeight
    if (is_at_end) toEnd()
  }).observe(document.body)
  return {
    addNews() {
      if (!is_at_end) latest.hidden = false
    },
  }
}

main().catch((error) => {
  const problem = byId('problem')
  problem.textContent = `The session could not be opened. ${error instanceof Error ? error.message : ''}`
  problem.hidden = false
})
