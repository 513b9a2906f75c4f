// @ts-check
import { make } from './dom.js'
import { plainText } from './text.js'

const INLINE = /(`+)(?!`)(.+?)(?<!`)\1(?!`)|\*\*([^\s*](?:[^*]*[^\s*])?)\*\*/g

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
    const blocks = splitBlocks(plainText(text))
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
  const heading = /^#{1,6} +(.+)$/.exec(block)?.[1]
  return heading ? make('p', 'heading', ...inline(heading)) : make('p', '', ...inline(block))
}

/**
 * @param {string} text
 * @returns {(Node | string)[]}
 */
function inline(text) {
  /** @type {(Node | string)[]} */
  const parts = []
  let from = 0
  for (const match of text.matchAll(INLINE)) {
    parts.push(text.slice(from, match.index))
    const [whole, , code, strong] = match
    parts.push(code === undefined ? make('strong', '', strong) : make('code', '', code))
    from = match.index + whole.length
  }
  parts.push(text.slice(from))
  return parts
}
