/** For a `grep` that knows POSIX's extended syntax alone: what there is of Perl's that can be said in it. */
const CLASSES = new Map([
  ['d', '0-9'],
  ['w', 'A-Za-z0-9_'],
  ['s', '[:space:]'],
])
const NOT_IN_LISTS = new Map([
  ['D', '[^0-9]'],
  ['W', '[^A-Za-z0-9_]'],
  ['S', '[^[:space:]]'],
])
const CONTROLS = new Map([
  ['t', '\t'],
  ['f', '\f'],
  ['v', '\v'],
])

/**
 * A pattern in Perl's syntax in POSIX's, and whether letter case counts; `null` where it cannot be said there. Whether a line
 * matches does not depend on how greedy a repeat is. The end of a line is before the CR of a CRLF.
 */
export function toPosixPattern(pattern: string): { pattern: string; ignore_case: boolean } | null {
  const flagged = /^\(\?i\)/.test(pattern)
  const source = flagged ? pattern.slice(4) : pattern
  const parts: string[] = []
  for (let at = 0; at < source.length; ) {
    const rest = source.slice(at)
    const list = /^\[\^?\]?(?:\[:\w+:\]|\\.|[^\]\\])*\]/s.exec(rest)?.[0]
    const part = list ?? /^(?:\(\?:|\\.|[*+?}][?+]|\(\?|.)/su.exec(rest)?.[0] ?? rest
    const said = list === undefined ? sayPart(part) : sayList(part)
    if (said === null) return null
    parts.push(said)
    at += part.length
  }
  return { pattern: parts.join(''), ignore_case: flagged }
}

function sayPart(part: string): string | null {
  if (part === '(?:') return '('
  // Lookarounds, names, flags within the pattern.
  if (part === '(?') return null
  if (/^[*+?}]\?$/.test(part)) return part.slice(0, 1)
  if (/^[*+?}]\+$/.test(part)) return null
  if (part === '$') return '\r?$'
  if (!part.startsWith('\\')) return part
  const letter = part.slice(1)
  const of_class = CLASSES.get(letter)
  if (of_class !== undefined) return `[${of_class}]`
  const said = NOT_IN_LISTS.get(letter) ?? CONTROLS.get(letter)
  if (said !== undefined) return said
  if (letter === 'b' || letter === 'B') return part
  if (/[A-Za-z0-9]/.test(letter) || letter === '') return null
  // Before any other character a backslash is undefined there.
  return /[$()*+.?[\\\]^{|}]/.test(letter) ? part : letter
}

/** Inside a list POSIX knows no backslash. */
function sayList(list: string): string | null {
  const begin = /^\[\^?/.exec(list)?.[0] ?? '['
  const escapes = list.slice(begin.length, -1).match(/\[:\w+:\]|\\.|[^\\]/gsu) ?? []
  const inner: string[] = []
  let first = ''
  let last = ''
  for (const part of escapes) {
    const letter = part.startsWith('\\') ? part.slice(1) : part
    const of_class = part.startsWith('\\') ? (CLASSES.get(letter) ?? CONTROLS.get(letter)) : undefined
    if (of_class !== undefined) inner.push(of_class)
    else if (part.startsWith('\\') && /[A-Za-z0-9]/.test(letter)) return null
    // These two mean themselves only at the begin and at the end.
    else if (letter === ']') first = ']'
    else if (letter === '-' && part.startsWith('\\')) last = '-'
    else if (letter === '^' && inner.length === 0 && part.startsWith('\\')) return null
    else inner.push(letter)
  }
  return `${begin}${first}${inner.join('')}${last}]`
}

/** What a pattern that found nothing may have been meant as, in a sentence; `null` where it is as usual. */
export function doubtPattern(pattern: string): string | null {
  const outside = pattern.replace(/\[\^?\]?(?:\\.|[^\]\\])*\]/gs, '').replaceAll('\\\\', '')
  if (/\\[nrR]/.test(outside)) return 'grep looks at one line at a time, so \\n matches nothing'
  if (/\\\|/.test(outside)) return '\\| is the character |; alternatives are written a|b'
  if (/\\[<>]/.test(outside)) return '\\< and \\> are the characters < and >; the edge of a word is \\b'
  return null
}
