/** Levels of lists and objects in each other. */
const MAX_DEPTH = 64
const MAX_SHOWN = 40

export type JsonReading = { value: unknown } | { problem: string }

/**
 * JSON as models write it: with commas before a closing bracket, line ends inside strings, single quotes, names without quotes,
 * Python's True, False and None, or a fence of Markdown around it. Nothing is guessed: a text that ends too early, or that could be
 * meant in two ways, is a problem that names its place. A library that repairs JSON would close what was cut.
 */
export function readLenientJson(text: string): JsonReading {
  try {
    return { value: JSON.parse(text) }
  } catch {
    // Read again below, with more patience and a place for each problem.
  }
  const fenced = readFence(text.trim())
  try {
    return { value: new LenientReader(fenced ?? text).read() }
  } catch (error) {
    if (error instanceof Problem) return { problem: error.message }
    throw error
  }
}

/** What stands between the fences of Markdown. */
function readFence(text: string): string | undefined {
  const [opening] = /^```(?:json)?[ \t]*\r?\n/i.exec(text) ?? []
  return opening && text.endsWith('```') ? text.slice(opening.length, -3) : undefined
}

class Problem extends Error {}

const ESCAPES = new Map(Object.entries({ b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }))
const WORDS = new Map<string, unknown>(
  Object.entries({ true: true, false: false, null: null, True: true, False: false, None: null }),
)

class LenientReader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  read(): unknown {
    const value = this.#readValue(0)
    this.#skipSpace()
    if (this.#at < this.#text.length) this.#fail('the value is complete, but more text follows')
    return value
  }

  #readValue(depth: number): unknown {
    this.#skipSpace()
    if (depth > MAX_DEPTH) this.#fail(`nested more than ${MAX_DEPTH} levels deep`)
    const first = this.#text[this.#at]
    if (first === '{') return this.#readObject(depth)
    if (first === '[') return this.#readList(depth)
    if (first === '"' || first === "'") return this.#readString(first)
    const number = this.#take(/-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])/y)
    if (number !== undefined) return Number(number)
    const word = this.#take(/[A-Za-z]+(?!\w)/y)
    if (word !== undefined && WORDS.has(word)) return WORDS.get(word)
    this.#at -= word?.length ?? 0
    return this.#fail('expected a value')
  }

  #readObject(depth: number): Record<string, unknown> {
    const entries: Array<[string, unknown]> = []
    this.#at += 1
    while (!this.#closes('}')) {
      const quote = this.#text[this.#at]
      const name = quote === '"' || quote === "'" ? this.#readString(quote) : this.#take(/[A-Za-z_$][\w$-]*/y)
      if (name === undefined) this.#fail('expected a name in double quotes, or }')
      this.#skipSpace()
      if (this.#text[this.#at] !== ':') this.#fail('expected : after a name')
      this.#at += 1
      entries.push([name ?? '', this.#readValue(depth + 1)])
      this.#skipComma('}')
    }
    return Object.fromEntries(entries)
  }

  #readList(depth: number): unknown[] {
    const items: unknown[] = []
    this.#at += 1
    while (!this.#closes(']')) {
      items.push(this.#readValue(depth + 1))
      this.#skipComma(']')
    }
    return items
  }

  #closes(bracket: string): boolean {
    this.#skipSpace()
    if (this.#text[this.#at] !== bracket) return false
    this.#at += 1
    return true
  }

  #skipComma(bracket: string): void {
    this.#skipSpace()
    if (this.#text[this.#at] === ',') this.#at += 1
    else if (this.#text[this.#at] !== bracket)
      this.#fail(`expected , or ${bracket} (a quote inside a string is written \\")`)
  }

  #readString(quote: string): string {
    const begin = this.#at
    const plain = quote === '"' ? /[^"\\]+/y : /[^'\\]+/y
    const parts: string[] = []
    this.#at += 1
    for (;;) {
      parts.push(this.#take(plain) ?? '')
      const end = this.#text[this.#at]
      if (end === undefined) this.#fail('the text ends, cut perhaps, inside the string that begins', begin)
      this.#at += 1
      if (end === quote) return parts.join('')
      parts.push(this.#readEscape())
    }
  }

  #readEscape(): string {
    const letter = this.#text[this.#at] ?? ''
    const hex = /u([0-9a-fA-F]{4})/y
    hex.lastIndex = this.#at
    const code = hex.exec(this.#text)?.[1]
    this.#at += code === undefined ? 1 : 5
    if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16))
    const known = ESCAPES.get(letter) ?? (/["'\\/]/.test(letter) ? letter : undefined)
    // `\d` may be meant as `\\d` or as `d`; before the end of a line a shell reads it as "goes on".
    if (known === undefined) {
      if (/[\r\n]/.test(letter)) return `\\${letter}`
      this.#at -= 2
      this.#fail(letter === '' ? 'the text ends' : `a backslash is written \\\\ in JSON`)
    }
    return known ?? ''
  }

  #take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)?.[0]
    this.#at += found?.length ?? 0
    return found
  }

  #skipSpace(): void {
    this.#take(/\s+/y)
  }

  #fail(what: string, at = this.#at): never {
    const before = this.#text.slice(0, at)
    const line = before.split('\n').length
    const column = at - before.lastIndexOf('\n')
    const place = `line ${line}, column ${column}`
    const rest = this.#text.slice(at, at + MAX_SHOWN).toWellFormed()
    const what_there_is =
      at >= this.#text.length ? 'where the text ends: was it cut?' : `at ${JSON.stringify(rest)}`
    throw new Problem(`${what} (${place}, ${what_there_is})`)
  }
}
