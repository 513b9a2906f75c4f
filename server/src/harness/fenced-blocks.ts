import MarkdownIt from 'markdown-it'

export interface FencedBlock {
  /** The first word behind the opening fence, in lower case. */
  language: string
  /** What follows it there. */
  options: string
  content: string
  /** Where the block's lines begin and end in the message. */
  start: number
  end: number
}

/** Lists and quotes inside each other; a list and its item count as one each. */
const MAX_NESTING = 32
/** Some lines cost hundreds of times what others do, so bytes alone do not bound the time. */
const MAX_LINES = 20_000

const TOO_DEEP = `The message has lists and quotes more than ${MAX_NESTING / 2} deep; put its steps further out.`
const TOO_LONG = `The message has more than ${MAX_LINES.toLocaleString('en')} lines; put long texts into files.`

// What stands inside a paragraph is never looked at: that is where Markdown takes time without limit. A definition of a
// link is a paragraph here, too.
const markdown = new MarkdownIt('commonmark', { maxNesting: MAX_NESTING }).disable('reference')

/**
 * The fenced blocks of a message (CommonMark, with line feeds as line ends) in these languages, also those inside lists
 * and quotes, in order. Takes time in proportion to the message; one that is out of bounds is refused, with the reason.
 */
export function findFencedBlocks(
  text: string,
  languages: ReadonlySet<string>,
): { blocks: FencedBlock[] } | { refused: string } {
  if (!mayHoldBlock(text, languages)) return { blocks: [] }
  if (countLines(text, MAX_LINES) > MAX_LINES) return { refused: TOO_LONG }
  const tokens: Parameters<typeof markdown.block.parse>[3] = []
  markdown.block.parse(text, markdown, {}, tokens)
  const blocks: FencedBlock[] = []
  let line = 0
  let offset = 0
  /** Where a line begins; to be asked in order. */
  const startOf = (wanted: number): number => {
    for (; line < wanted; line += 1) {
      const end = text.indexOf('\n', offset)
      if (end < 0) return text.length
      offset = end + 1
    }
    return offset
  }
  for (const { type, level, info, content, map } of tokens) {
    // Where its limit is reached the parser leaves the inside out without a word.
    if (level >= MAX_NESTING - 1 && (type === 'blockquote_open' || type === 'list_item_open'))
      return { refused: TOO_DEEP }
    if (type !== 'fence' || !map) continue
    const [, name = '', options = ''] = /^\s*(\S*)\s*(.*)$/s.exec(info) ?? []
    const language = readable(name).toLowerCase()
    if (!languages.has(language)) continue
    const start = startOf(map[0])
    const end = startOf(map[1])
    blocks.push({
      language,
      options: readable(options).trimEnd(),
      content: content.replace(/\n$/, ''),
      start,
      end,
    })
  }
  return { blocks }
}

/** Without the escapes and character references of Markdown. */
const readable = (text: string): string => markdown.utils.unescapeAll(text)

/** Most messages are no runbooks; whatever they hold instead need not be taken apart. */
function mayHoldBlock(text: string, languages: ReadonlySet<string>): boolean {
  const lower = text.toLowerCase()
  return (
    (lower.includes('```') || lower.includes('~~~')) && [...languages].some((name) => lower.includes(name))
  )
}

function countLines(text: string, enough: number): number {
  let lines = 1
  for (let at = text.indexOf('\n'); at >= 0 && lines <= enough; at = text.indexOf('\n', at + 1)) lines += 1
  return lines
}
