// @ts-check
import { make } from './dom.js'
import { plainText } from './text.js'

/** Characters of a message that are set; what follows stands as it came, so that no message holds the page up. */
const MOST_SET = 128 * 1024
/** Characters of a paragraph up to which its `code` and **strong** are set. */
const LONGEST_SET = 16 * 1024

const STRONG = /\*\*([^\s*](?:[^*]*[^\s*])?)\*\*/y

/**
 * Messages, with the little of Markdown that reads better set: fenced code, `code`, **strong**, headings. No links, no
 * images. It can be updated while a message grows; blocks that did not change stay, and so does a reader's selection.
 */
export class Prose {
  element = make('div', 'prose')
  /** @type {string[]} */
  #shown = []

  /** @param {string} [text] */
  constructor(text) {
    if (text !== undefined) this.update(text)
  }

  /** @param {string} text The whole message so far. */
  update(text) {
    const plain = plainText(text)
    const blocks = splitBlocks(plain.slice(0, MOST_SET))
    if (plain.length > MOST_SET) blocks.push(plain.slice(MOST_SET))
    for (const [index, block] of blocks.entries()) {
      if (this.#shown[index] === block) continue
      const made = makeBlock(block)
      const before = this.element.children[index]
      if (before) before.replaceWith(made)
      else this.element.append(made)
    }
    while (this.element.children.length > blocks.length) this.element.lastElementChild?.remove()
    this.#shown = blocks
  }
}

/**
 * Fenced code with its fences, or a paragraph; what has no closing fence yet is code to the end.
 * @param {string} text
 */
function splitBlocks(text) {
  /** @type {string[]} */
  const blocks = []
  /** @type {string[]} */
  let lines = []
  let fence = ''
  const end = () => {
    if (lines.some((line) => line.trim() !== '')) blocks.push(lines.join('\n'))
    lines = []
  }
  for (const line of text.split('\n')) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1] ?? ''
    if (fence) {
      lines.push(line)
      if (mark.startsWith(fence) && line.trim() === mark) {
        fence = ''
        end()
      }
    } else if (mark) {
      end()
      fence = mark
      lines.push(line)
    } else if (line.trim() === '') end()
    else lines.push(line)
  }
  end()
  return blocks
}

/** @param {string} block */
function makeBlock(block) {
  const fence = /^ {0,3}(`{3,}|~{3,})/.exec(block)?.[1]
  if (fence) {
    const lines = block.split('\n').slice(1)
    if (lines.at(-1)?.trim().startsWith(fence)) lines.pop()
    const code = make('pre', 'code', lines.join('\n'))
    code.tabIndex = 0
    return code
  }
  const heading = /^#{1,6} +(\S.*)$/.exec(block)?.[1]
  return heading ? make('p', 'heading', ...inline(heading)) : make('p', '', ...inline(block))
}

/**
 * @param {string} text
 * @returns {(Node | string)[]}
 */
function inline(text) {
  return text.length > LONGEST_SET
    ? [text]
    : findSpans(text).map(({ kind, text }) => (kind ? make(kind, '', text) : text))
}

/** @typedef {{ kind: 'code' | 'strong' | '', text: string }} Span */

/**
 * Takes a paragraph apart, in time that grows with it. Code is what stands on one line between two runs of as many
 * backticks.
 * @param {string} text
 */
export function findSpans(text) {
  /** @type {Span[]} */
  const spans = []
  const closings = findClosings(text)
  const mark = /`+|\*\*/g
  let from = 0
  for (let found = mark.exec(text); found; found = mark.exec(text)) {
    const [run] = found
    STRONG.lastIndex = found.index
    const closing = closings.get(found.index)
    const strong = run === '**' ? STRONG.exec(text)?.[1] : undefined
    if (closing === undefined && strong === undefined) continue
    const code = text.slice(found.index + run.length, closing)
    spans.push({ kind: '', text: text.slice(from, found.index) })
    spans.push(strong === undefined ? { kind: 'code', text: code } : { kind: 'strong', text: strong })
    from = found.index + (strong ?? code).length + 2 * run.length
    mark.lastIndex = from
  }
  spans.push({ kind: '', text: text.slice(from) })
  return spans.filter((span) => span.text !== '')
}

/**
 * Where each run of backticks finds the next of its length on the same line.
 * @param {string} text
 */
function findClosings(text) {
  /** @type {Map<number, number>} */
  const closings = new Map()
  /** @type {Map<number, number>} */
  const later = new Map()
  for (const { 0: run, index } of [...text.matchAll(/`+|\n/g)].reverse()) {
    if (run === '\n') {
      later.clear()
      continue
    }
    const closing = later.get(run.length)
    if (closing !== undefined) closings.set(index, closing)
    later.set(run.length, index)
  }
  return closings
}
