/** Characters of a line that are looked at, and kept. */
const MAX_LINE = 300
/** The same with the colours that are taken out of it. */
const MAX_COLOURED = 4 * MAX_LINE
/** How programs begin what is wrong, with what they call themselves before it. */
const PLAIN =
  /^(?:\S+:\s+)*(?:line \d+:\s+)?(?:error|fatal|panic|uncaught exception|traceback|fatal error|npm (?:err!|error)|err_\w+|e:)(?=[\s:[(!]|$)|(?:command not found|: not found|no such file or directory|permission denied|cannot find module|no space left on device)\b|^\S*(?:error|exception):/i
/** What is likely to be wrong where nothing says so more plainly. */
const LIKELY =
  /(?<![\w./-])(?:errors?|failed|failure|fatal|cannot|could not|unable to|unresolved|denied)(?![\w/-]|\.\w)/i
const NONE =
  /(?<![\w.])(?:0|no|without) (?:errors?|failures?|failed)\b|\b(?:errors?|failed|failures?)\s*[:=]\s*0\b|^\s*(?:npm )?warn|\bwarning\b|^\++ /i
// biome-ignore lint/suspicious/noControlCharactersInRegex: as terminals take them.
const ESCAPES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-_])/g

/**
 * Finds the first line of an output that says what is wrong: builds go on printing after it, so the end is often what follows
 * from it. Takes the output in pieces.
 */
export class FirstError {
  #rest = ''
  #plain: string | null = null
  #likely: string | null = null

  push(text: string): void {
    if (this.#plain !== null) return
    const lines = text.split('\n')
    const last = lines.pop() ?? ''
    for (const line of lines) {
      this.#look(this.#rest + line)
      this.#rest = ''
    }
    // Of a line without an end its beginning is enough; what was overwritten is none of it.
    const open = this.#rest + last
    this.#rest = open.slice(open.lastIndexOf('\r', open.length - 2) + 1).slice(0, 2 * MAX_LINE)
  }

  /** `null`: no line reads like it. */
  end(): string | null {
    this.#look(this.#rest)
    this.#rest = ''
    return this.#plain ?? this.#likely
  }

  #look(line: string): void {
    let end = line.length
    while (line[end - 1] === '\r') end -= 1
    const start = end === 0 ? 0 : line.lastIndexOf('\r', end - 1) + 1
    const text = line
      // Lines are whatever a repository prints: no expression sees more than a bounded part of one.
      .slice(start, Math.min(end, start + MAX_COLOURED))
      .replace(ESCAPES, '')
      .trim()
      .slice(0, MAX_LINE)
      .toWellFormed()
    if (text === '' || NONE.test(text)) return
    if (this.#plain === null && PLAIN.test(text)) this.#plain = text
    else if (this.#likely === null && LIKELY.test(text)) this.#likely = text
  }
}
