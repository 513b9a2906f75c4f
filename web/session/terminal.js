// @ts-check
import { make } from './dom.js'
import { EscapeFilter, formatBytes } from './text.js'

/** Characters shown of one output; the oldest go first. */
const MOST = 256 * 1024
/** Output is laid out in blocks of about this size, so that a new line does not lay out all before it again. */
const BLOCK = 16 * 1024

/** @typedef {'stdout' | 'stderr'} Stream */

/**
 * Output of a command, as a terminal would show it: escapes are left out, a carriage return starts the line again.
 * It stays at its end while it grows, unless the reader has scrolled up.
 */
export class Terminal {
  #output = make('pre', 'output')
  #cut = make('p', 'cut')
  element = make('div', 'terminal', this.#cut, this.#output)
  /** @type {Record<Stream, EscapeFilter>} */
  #filters = { stdout: new EscapeFilter(), stderr: new EscapeFilter() }
  /** @type {{ element: HTMLElement, size: number }[]} */
  #blocks = []
  #size = 0
  #dropped = 0
  #is_pinned = true
  #at_line_start = true
  /** A carriage return at the end of a chunk: what follows says what it means. */
  #has_return = false

  /** @param {() => void} onResize Called, with a layout that is up to date, when the output is unfolded or gets narrower. */
  constructor(onResize) {
    this.#cut.hidden = true
    this.#output.tabIndex = 0
    this.#output.setAttribute('role', 'group')
    this.#output.setAttribute('aria-label', 'Output')
    this.#output.addEventListener('scroll', () => {
      const { scrollTop, clientHeight, scrollHeight } = this.#output
      this.#is_pinned = scrollTop + clientHeight >= scrollHeight - 8
    })
    new ResizeObserver(onResize).observe(this.#output)
  }

  get is_empty() {
    return this.#size === 0 && this.#dropped === 0
  }

  /**
   * @param {Stream} stream
   * @param {string} chunk
   */
  append(stream, chunk) {
    let text = (this.#has_return ? '\r' : '') + this.#filters[stream].push(chunk)
    this.#has_return = text.endsWith('\r')
    text = (this.#has_return ? text.slice(0, -1) : text).replaceAll('\r\n', '\n')
    if (text.includes('\r')) {
      const lines = text.split('\n')
      if (lines[0]?.includes('\r')) this.#eraseLine()
      text = lines.map((line) => line.slice(line.lastIndexOf('\r') + 1)).join('\n')
    }
    if (text.length > MOST) {
      this.#dropped += text.length - MOST
      text = text.slice(-MOST)
    }
    if (text) this.#write(stream, text)
  }

  /** Scrolls to the end, if that is where the reader is. Separate, because it makes the browser lay the page out. */
  settle() {
    if (this.#is_pinned) this.#output.scrollTop = this.#output.scrollHeight
  }

  /** Whether there is more than fits its height: a good part of a line, not a glyph of a taller font. */
  get is_overflowing() {
    return this.#output.scrollHeight > this.#output.clientHeight + 8
  }

  /**
   * @param {Stream} stream
   * @param {string} text
   */
  #write(stream, text) {
    let block = this.#blocks.at(-1)
    if (!block || (block.size > BLOCK && (this.#at_line_start || block.size > 4 * BLOCK))) {
      block = { element: make('div', ''), size: 0 }
      this.#blocks.push(block)
      this.#output.append(block.element)
    }
    const last = block.element.lastElementChild
    if (last instanceof HTMLElement && last.className === stream && last.firstChild instanceof Text) {
      last.firstChild.appendData(text)
    } else block.element.append(make('span', stream, text))
    block.size += text.length
    this.#size += text.length
    this.#at_line_start = text.endsWith('\n')
    this.#dropOldest()
  }

  #dropOldest() {
    while (this.#size > MOST && this.#blocks.length > 1) {
      const oldest = this.#blocks.shift()
      if (!oldest) return
      oldest.element.remove()
      this.#size -= oldest.size
      this.#dropped += oldest.size
    }
    if (this.#dropped === 0) return
    this.#cut.hidden = false
    this.#cut.textContent = `The first ${formatBytes(this.#dropped)} are not shown here.`
  }

  /** Takes away what stands on the line that is being written. */
  #eraseLine() {
    const block = this.#blocks.at(-1)
    while (block?.element.lastChild) {
      const { lastChild } = block.element
      const text = lastChild.textContent ?? ''
      const kept = text.slice(0, text.lastIndexOf('\n') + 1)
      block.size -= text.length - kept.length
      this.#size -= text.length - kept.length
      if (kept) {
        lastChild.textContent = kept
        break
      }
      lastChild.remove()
    }
    this.#at_line_start = true
  }
}
