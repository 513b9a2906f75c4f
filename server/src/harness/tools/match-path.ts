/** Steps that are remembered: most paths of a workspace take the same few. */
const MAX_REMEMBERED = 5_000

/** `takes`: null where it goes on to all of `next` without a character. */
interface State {
  takes: ((character: string) => boolean) | null
  next: number[]
}

/** The states that a path may have come to, and those that each character leads to. */
interface Place {
  states: readonly number[]
  accepts: boolean
  after: Map<string, Place>
}

/**
 * Whether a path is one of the pattern's: `*`, `**`, `?`, `[a-z]`, `{a,b}`, `{a..c}`, a backslash before what stands for itself,
 * `!` before all that the pattern does not match, and with `groups` `(a|b)`. Brackets also stand for themselves. Looks at each
 * character once, whatever the pattern is: a regular expression takes time without end on names that somebody chose for it.
 */
export function pathMatcher(given: string, { groups }: { groups: boolean }): (path: string) => boolean {
  const pattern = given.replace(/^!+/, '')
  const is_negated = (given.length - pattern.length) % 2 === 1
  const states: State[] = [{ takes: null, next: [] }]
  const start = new Compiler(states, groups).compile(pattern, 0)
  let places = new Map<string, Place>()
  const placeOf = (from: readonly number[]): Place => {
    const reached = reach(states, from)
    const key = reached.join()
    const known = places.get(key)
    if (known !== undefined) return known
    const place = { states: reached, accepts: reached.includes(0), after: new Map() }
    if (places.size < MAX_REMEMBERED) places.set(key, place)
    return place
  }
  let remembered = 0
  let first = placeOf([start])
  return (path) => {
    if (remembered > MAX_REMEMBERED) {
      remembered = 0
      places = new Map()
      first = placeOf([start])
    }
    let place = first
    for (const character of path) {
      if (place.states.length === 0) break
      let after = place.after.get(character)
      if (after === undefined) {
        after = placeOf(
          place.states.flatMap((at) => (states[at]?.takes?.(character) ? (states[at]?.next ?? []) : [])),
        )
        place.after.set(character, after)
        remembered += 1
      }
      place = after
    }
    return place.accepts !== is_negated
  }
}

/** All that take a character, and the end, which is 0, where it is reached without one. */
function reach(states: readonly State[], from: readonly number[]): number[] {
  const seen = new Set(from)
  // A set that grows while it is walked gives what is added too.
  for (const at of seen) if (states[at]?.takes === null) for (const next of states[at].next) seen.add(next)
  return [...seen].filter((at) => at === 0 || states[at]?.takes !== null).sort((a, b) => a - b)
}

const any = () => true
const inName = (character: string) => character !== '/'
const OPENS = new Set([undefined, '/', '{', ',', '(', '|'])

class Compiler {
  readonly #states: State[]
  readonly #groups: boolean

  constructor(states: State[], groups: boolean) {
    this.#states = states
    this.#groups = groups
  }

  /** Gives the state that a path begins in which the pattern brings to `end`. */
  compile(pattern: string, end: number): number {
    const parts: Array<(next: number) => number> = []
    for (let at = 0; at < pattern.length; ) {
      const { length, build } = this.#read(pattern, at)
      parts.push(build)
      at += length
    }
    return parts.reduceRight((next, build) => build(next), end)
  }

  #add(takes: State['takes'], ...next: number[]): number {
    return this.#states.push({ takes, next }) - 1
  }

  #text(text: string, next: number): number {
    return [...text].reduceRight((next, own) => this.#add((character) => character === own, next), next)
  }

  /** Any number of what `takes` takes. */
  #many(takes: (character: string) => boolean, next: number): number {
    const loop = this.#add(null, next)
    this.#states[loop]?.next.push(this.#add(takes, loop))
    return loop
  }

  #read(pattern: string, at: number): { length: number; build: (next: number) => number } {
    const rest = pattern.slice(at)
    const stars = /^\*+/.exec(rest)?.[0].length ?? 0
    if (stars > 1 && OPENS.has(pattern[at - 1])) {
      if (rest[stars] === '/')
        return {
          length: stars + 1,
          build: (next) => this.#add(null, next, this.#many(any, this.#text('/', next))),
        }
      return { length: stars, build: (next) => this.#many(any, next) }
    }
    if (stars > 0) return { length: stars, build: (next) => this.#many(inName, next) }
    if (rest[0] === '?') return { length: 1, build: (next) => this.#add(inName, next) }
    if (rest[0] === '[') {
      const whole = /^\[[!^]?\]?(?:\\.|[^\]\\])*\]/s.exec(rest)?.[0]
      const takes = whole === undefined ? null : readClass(whole)
      if (whole !== undefined && takes !== null)
        return {
          length: whole.length,
          build: (next) => this.#add(null, this.#add(takes, next), this.#text(whole, next)),
        }
    }
    if (rest[0] === '{' || (this.#groups && rest[0] === '(')) {
      const choice = splitChoice(rest)
      if (choice !== null)
        return {
          length: choice.length,
          build: (next) => this.#add(null, ...choice.parts.map((part) => this.compile(part, next))),
        }
      const range = /^\{([^\\/])\.\.([^\\/])\}/.exec(rest)
      const [from = '', to = ''] = [range?.[1], range?.[2]].sort()
      if (range !== null)
        return {
          length: range[0].length,
          build: (next) => this.#add((character) => character >= from && character <= to, next),
        }
    }
    const own = /^\\(.)/su.exec(rest)?.[1]
    if (own !== undefined) return { length: own.length + 1, build: (next) => this.#text(own, next) }
    const character = String.fromCodePoint(rest.codePointAt(0) ?? 0)
    return { length: character.length, build: (next) => this.#text(character, next) }
  }
}

/** `null`: there is no such class. Tried on single characters only. */
function readClass(whole: string): ((character: string) => boolean) | null {
  const [, not, body = ''] = /^\[([!^]?)(.*)\]$/s.exec(whole) ?? []
  try {
    const expression = new RegExp(`^[${not ? '^' : ''}${body.replace(/^\]/, '\\]')}]$`)
    return (character) => character !== '/' && expression.test(character)
  } catch {
    return null
  }
}

/** The parts of `{a,b}` or `(a|b)` at the beginning of a text, which may have such in them; `null`: it is none. */
function splitChoice(text: string): { parts: string[]; length: number } | null {
  const [open, close, between] = text[0] === '{' ? ['{', '}', ','] : ['(', ')', '|']
  const parts: string[] = []
  let depth = 0
  let start = 1
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1
    else if (text[at] === open) depth += 1
    else if (text[at] === between && depth === 1) {
      parts.push(text.slice(start, at))
      start = at + 1
    } else if (text[at] === close) {
      depth -= 1
      if (depth > 0) continue
      return parts.length === 0 ? null : { parts: [...parts, text.slice(start, at)], length: at + 1 }
    }
  }
  return null
}
