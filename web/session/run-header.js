// @ts-check
import { byId, make, makePageLink, makeTime } from './dom.js'
import { formatBytes, formatCost, formatDuration, plainText } from './text.js'

/** @typedef {import('./feed.js').RunEvent} RunEvent */
/** @typedef {Record<string, any> & { run_id: string, title: string, state: string, created_at: string }} Run */

/** @type {Record<string, string>} */
const STATES = {
  QUEUED: 'Queued',
  PENDING: 'Pending',
  CLAIMED: 'Preparing',
  INPROGRESS: 'Running',
  SUCCEEDED: 'Succeeded',
  FAILED: 'Failed',
  ERROR: 'Error',
  BLOCKED: 'Waiting for you',
  CANCELLED: 'Cancelled',
}
/** Of the icon in the tab: fixed colours, since it stands on the browser's ground. @type {Record<string, string>} */
const ICON_COLOURS = {
  CLAIMED: '#4f6bed',
  INPROGRESS: '#4f6bed',
  SUCCEEDED: '#259b5c',
  FAILED: '#d9453c',
  ERROR: '#d9453c',
  BLOCKED: '#d4900f',
}

/** Title, state and figures of the run, kept right by its events. */
export class RunHeader {
  #run
  #state
  #tokens = 0
  #cost = 0
  #worked_ms = 0
  #working_since = 0
  /** Claims beyond the one that each execution takes: workers were lost. */
  #retries = 0
  #model
  #is_changed = true

  /** @param {Run} run */
  constructor(run) {
    this.#run = run
    this.#state = run.state
    this.#model = run.agent_config?.model_id
    const { creator, agent_config: config = {}, created_at } = run
    byId('title').textContent = plainText(run.title)
    setFact('creator', plainText(creator?.display_name ?? creator?.uid ?? ''))
    setFact('created', makeTime(created_at))
    setFact('run', run.run_id)
    setFact('conversation', String(run.conversation_id ?? ''))
    setFact('source', String(run.source ?? ''))
    setFact('environment', String(config.environment_id ?? ''))
    setFact('skill', plainText(run.agent_skill?.full_path ?? ''))
  }

  get state() {
    return this.#state
  }

  /** @param {Run['resolved']} resolved */
  resolve(resolved) {
    this.#run.resolved = resolved
  }

  /** @param {RunEvent} event */
  apply({ type, data, occurred_at }) {
    if (type === 'run.state') this.#changeState(data.state, Date.parse(occurred_at))
    else if (type === 'usage') {
      this.#tokens += data.total_tokens
      this.#cost += data.inference_cost_usd ?? 0
      if (!data.by_gateway) this.#model = data.model_id
    } else if (type === 'attempt.started') this.#retries = data.attempt - data.execution
    else if (type === 'artifact.created') addArtifact(data)
    else if (type === 'reference.reported') addReference(data)
    else if (type === 'changes.pushed')
      setFact(
        'pushed',
        makePageLink(
          data.url,
          data.pull_request ? `pull request #${data.pull_request.number}` : plainText(data.branch),
        ),
      )
    else return
    this.#is_changed = true
  }

  /**
   * @param {string} state
   * @param {number} at
   */
  #changeState(state, at) {
    this.#state = state
    const is_working = state === 'CLAIMED' || state === 'INPROGRESS'
    if (is_working) this.#working_since ||= at
    else {
      if (this.#working_since) this.#worked_ms += at - this.#working_since
      this.#working_since = 0
    }
  }

  /** Shows what has changed. */
  settle() {
    if (!this.#is_changed) return
    this.#is_changed = false
    const label = STATES[this.#state] ?? this.#state
    const badge = byId('state')
    badge.dataset.state = this.#state
    if (badge.textContent !== label) badge.textContent = label
    document.title = `${label} · ${plainText(this.#run.title)}`
    setIcon(ICON_COLOURS[this.#state] ?? '#888888')
  }

  /**
   * Shows the figures; called each second, since time is one of them.
   * @param {number} now
   */
  tick(now) {
    const worked = this.#worked_ms + (this.#working_since ? Math.max(0, now - this.#working_since) : 0)
    // A running clock shows whole seconds, or it would flicker.
    const time = this.#working_since ? Math.floor(worked / 1000) * 1000 : worked
    setFact('time', worked > 0 ? formatDuration(time) : '')
    setFact('tokens', this.#tokens > 0 ? this.#tokens.toLocaleString() : '')
    setFact('cost', this.#cost > 0 ? formatCost(this.#cost) : '')
    setFact('retries', this.#retries > 0 ? String(this.#retries) : '')
    setFact(
      'agent',
      plainText(
        [this.#run.resolved?.harness ?? this.#run.agent_config?.harness?.type, this.#model]
          .filter(Boolean)
          .join(' · '),
      ),
    )
  }
}

/**
 * Sets a fact, and hides it while there is nothing to say.
 * @param {string} name
 * @param {string | Node} value
 */
function setFact(name, value) {
  const place = byId(`fact-${name}`)
  const entry = place.parentElement
  if (entry) entry.hidden = value === ''
  if (typeof value !== 'string') place.replaceChildren(value)
  else if (place.textContent !== value) place.textContent = value
}

/** @param {Record<string, any>} artifact */
function addArtifact({ artifact_uid, artifact_type, filename, filepath, size_bytes, title }) {
  const name = artifact_type === 'PLAN' ? 'Plan' : plainText(title ?? filename)
  const more = artifact_type === 'PLAN' ? plainText(title) : formatBytes(size_bytes)
  const item = make('li', '', make('code', '', name), make('span', 'soft', more))
  item.title = plainText(filepath)
  listArtifact(artifact_uid, item)
}

/** @param {Record<string, any>} reference */
function addReference({ artifact_uid, url, title, reference_type }) {
  const kind = plainText(reference_type).toLowerCase().replaceAll('_', ' ')
  listArtifact(
    artifact_uid,
    make('li', '', makePageLink(url, plainText(title ?? url)), make('span', 'soft', kind)),
  )
}

/**
 * In the place of the one with the same id: what it was before.
 * @param {string} artifact_uid
 * @param {HTMLElement} item
 */
function listArtifact(artifact_uid, item) {
  const list = byId('artifact-list')
  item.dataset.uid = artifact_uid
  const before = [...list.children].find(
    (other) => other instanceof HTMLElement && other.dataset.uid === artifact_uid,
  )
  if (before) before.replaceWith(item)
  else list.append(item)
  byId('artifacts').hidden = false
}

/** @param {string} colour */
function setIcon(colour) {
  const icon = document.querySelector('link[rel=icon]')
  const svg = `<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'><circle cx='8' cy='8' r='6' fill='${colour}'/></svg>`
  const href = `data:image/svg+xml,${encodeURIComponent(svg)}`
  if (icon instanceof HTMLLinkElement && icon.href !== href) icon.href = href
}
