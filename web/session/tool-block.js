// @ts-check
import { make } from './dom.js'
import { Terminal } from './terminal.js'
import { formatBytes, formatDuration, plainText } from './text.js'

/** @typedef {{ is_error: boolean, output?: string, exit_code?: number | null, duration_ms?: number, truncated_bytes?: number }} ToolResult */

/** Characters of an input or answer that are shown. */
const MOST = 64 * 1024

/**
 * A call of a tool: what was asked, what it printed, how it ended. Commands are open, file tools folded.
 */
export class ToolBlock {
  #title = make('span', 'tool-title')
  #meta = make('span', 'tool-meta')
  #body = make('div', 'tool-body')
  #terminal = new Terminal(() => this.#settleNow())
  #is_near = !('ContentVisibilityAutoStateChangeEvent' in window)
  #more = make('button', 'more', 'Show all')
  element = make(
    'details',
    'tool',
    make('summary', '', make('span', 'mark-of-state'), this.#title, this.#meta),
    this.#body,
  )
  name
  started_at

  /**
   * @param {{ name: string, input: Record<string, unknown>, title?: string }} call
   * @param {number} started_at
   */
  constructor(call, started_at) {
    this.started_at = started_at
    const { command } = call.input
    this.name = plainText(call.title || call.name)
    this.element.dataset.status = 'running'
    this.element.open = typeof command === 'string'
    if (typeof command === 'string') {
      const shown = clip(plainText(command))
      // A title that is the command, or the start of it, is set like one; the whole stands below, once.
      this.#title.classList.toggle('command', shown.startsWith(this.name.replace(/…$/, '')))
      if (shown !== this.name) this.#body.append(make('pre', 'command', shown))
    } else this.#body.append(...showInput(call.input))
    this.#title.textContent = this.name
    this.#title.title = this.name
    this.#more.type = 'button'
    this.#more.hidden = true
    this.#more.addEventListener('click', () => {
      const is_tall = this.element.classList.toggle('tall')
      this.#more.textContent = is_tall ? 'Show less' : 'Show all'
      this.#terminal.settle()
    })
    // The browser lays out what is near the screen only; asking about anything else would make it lay out everything.
    this.element.addEventListener('contentvisibilityautostatechange', (event) => {
      if (event instanceof ContentVisibilityAutoStateChangeEvent) this.#is_near = !event.skipped
      this.#settleNow()
    })
    this.#body.append(this.#terminal.element, this.#more)
    this.#terminal.element.hidden = true
  }

  /**
   * @param {'stdout' | 'stderr'} stream
   * @param {string} text
   */
  append(stream, text) {
    this.#terminal.append(stream, text)
    this.#terminal.element.hidden = this.#terminal.is_empty
  }

  /** @param {ToolResult} result */
  end(result) {
    const { is_error, exit_code, duration_ms, truncated_bytes, output } = result
    this.element.dataset.status = is_error ? 'failed' : 'done'
    if (is_error) this.element.open = true
    this.#meta.replaceChildren(
      ...(typeof exit_code === 'number' && exit_code !== 0 ? [make('span', 'bad', `exit ${exit_code}`)] : []),
      ...(is_error && typeof exit_code !== 'number' ? [make('span', 'bad', 'failed')] : []),
      ...(typeof exit_code === 'number' && exit_code === 0 ? [make('span', '', 'exit 0')] : []),
      ...(duration_ms === undefined ? [] : [make('span', '', formatDuration(duration_ms))]),
    )
    if (truncated_bytes) {
      this.#body.append(make('p', 'cut', `${formatBytes(truncated_bytes)} of output were left out.`))
    }
    if (output && this.#terminal.is_empty) this.append('stdout', clip(output))
    else if (output && output.trim() !== '') {
      this.#body.append(
        make(
          'details',
          'told',
          make('summary', '', 'What the agent was told'),
          make('pre', '', clip(plainText(output))),
        ),
      )
    }
    if (this.#terminal.is_empty) this.#body.append(make('p', 'cut', 'No output.'))
  }

  /** Somebody has to allow it; until then it has not begun. */
  wait() {
    this.element.dataset.status = 'waiting'
    this.#meta.replaceChildren(make('span', '', 'not begun'))
  }

  /** The run went on without this call's end. */
  abandon() {
    this.element.dataset.status = 'failed'
    this.#meta.replaceChildren(make('span', 'bad', 'cut off'))
  }

  /** @param {number} now */
  tick(now) {
    if (now - this.started_at >= 1000)
      this.#meta.textContent = formatDuration(Math.floor((now - this.started_at) / 1000) * 1000)
  }

  /** Scrolls the output. True when it has become higher than its place: then `offerAll`, after all such questions. */
  settle() {
    if (!this.#is_near || !this.element.open) return false
    this.#terminal.settle()
    return this.#more.hidden && this.#terminal.is_overflowing
  }

  #settleNow() {
    if (this.settle()) this.offerAll()
  }

  /** Lets the reader see the whole output. It changes the layout, so that every question after it costs a new one. */
  offerAll() {
    this.#more.hidden = false
  }
}

/** @param {Record<string, unknown>} input */
function showInput(input) {
  const { path, content, old_text, new_text, ...rest } = input
  if (typeof path === 'string' && typeof old_text === 'string' && typeof new_text === 'string') {
    return [
      make('pre', 'input', ...diffLines('removed', '-', old_text), ...diffLines('added', '+', new_text)),
    ]
  }
  if (typeof path === 'string' && typeof content === 'string' && Object.keys(rest).length === 0) {
    return [make('pre', 'input', ...diffLines('added', '+', content))]
  }
  if (typeof path === 'string' && Object.keys(input).length === 1) return []
  return Object.keys(input).length > 0 ? [make('pre', 'input', clip(plainText(input)))] : []
}

/**
 * @param {'removed' | 'added'} kind
 * @param {string} sign
 * @param {string} text
 */
const diffLines = (kind, sign, text) =>
  clip(plainText(text))
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => make('span', kind, `${sign} ${line}\n`))

/** @param {string} text */
const clip = (text) =>
  text.length > MOST ? `${text.slice(0, MOST)}\n… (${formatBytes(text.length - MOST)} more)` : text
