// @ts-check
import { make } from './dom.js'
import { formatDuration, plainText } from './text.js'

/** @typedef {{ phase: string, name: string, status: string, exit_code?: number | null, duration_ms?: number, output?: string }} SetupData */

/** @type {Record<string, string>} */
const PHASES = { sandbox: 'Sandbox', restore: 'Restore workspace', clone: 'Clone', command: 'Run' }

/** The steps of one preparation. Open while it goes on, folded when the agent starts, unless a step failed. */
export class SetupBlock {
  #title = make('span', 'tool-title', 'Setting up')
  #meta = make('span', 'tool-meta')
  #list = make('ol', 'steps')
  element = make(
    'details',
    'tool setup',
    make('summary', '', make('span', 'mark-of-state'), this.#title, this.#meta),
    this.#list,
  )
  /** @type {Map<string, HTMLElement>} */
  #running = new Map()
  #spent_ms = 0
  #has_failed = false

  constructor() {
    this.element.open = true
    this.element.dataset.status = 'running'
  }

  /** @param {SetupData} data */
  apply(data) {
    const key = `${data.phase} ${data.name}`
    const item = this.#running.get(key) ?? make('li', '')
    if (!item.parentElement) this.#list.append(item)
    item.dataset.status = data.status === 'started' ? 'running' : data.status === 'failed' ? 'failed' : 'done'
    const is_over = data.status !== 'started'
    const took = data.duration_ms === undefined ? '' : formatDuration(data.duration_ms)
    const exit = data.exit_code ? `exit ${data.exit_code}` : ''
    item.replaceChildren(
      make('span', 'mark-of-state'),
      make('span', 'phase', PHASES[data.phase] ?? plainText(data.phase)),
      make('code', 'step-name', plainText(data.name)),
      make(
        'span',
        'tool-meta',
        exit ? make('span', 'bad', exit) : null,
        took ? make('span', '', took) : null,
      ),
    )
    if (data.output?.trim()) item.append(showOutput(data.output, data.status === 'failed'))
    if (!is_over) {
      this.#running.set(key, item)
      return
    }
    this.#running.delete(key)
    this.#spent_ms += data.duration_ms ?? 0
    if (data.status === 'failed') {
      this.#has_failed = true
      this.close()
    }
  }

  /** Nothing more comes. */
  close() {
    this.#title.textContent = this.#has_failed ? 'Setup failed' : 'Set up'
    this.#meta.textContent = this.#spent_ms > 0 ? formatDuration(this.#spent_ms) : ''
    this.element.dataset.status = this.#has_failed ? 'failed' : 'done'
    this.element.open = this.#has_failed
  }
}

/**
 * @param {string} output
 * @param {boolean} is_open
 */
function showOutput(output, is_open) {
  const shown = make('details', 'told', make('summary', '', 'Output'), make('pre', '', plainText(output)))
  shown.open = is_open
  return shown
}
