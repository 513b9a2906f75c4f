// Text of a run made fit for showing: no terminal control, no characters that reorder what is read.

/* biome-ignore-start lint/suspicious/noControlCharactersInRegex: control characters are what these look for. */

/** Whole escape sequences (ECMA-48): CSI, OSC, the other strings, and the short ones. */
const ESCAPES =
  /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[PX^_][^\x1b]*\x1b\\|\x1b[ -/]*[0-~]/g
/** The start of one at the end of a chunk. */
const UNFINISHED =
  /(?:(?:\x1b\[|\x9b)[0-?]*[ -/]*|\x1b\][^\x07\x1b]*\x1b?|\x1b[PX^_][^\x1b]*\x1b?|\x1b[ -/]*)$/
/** Controls other than tab, line feed and carriage return; and what overrides the direction of text. */
const CONTROLS = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g

/* biome-ignore-end lint/suspicious/noControlCharactersInRegex: as above. */

const LONGEST_SEQUENCE = 4096

const strip = (text: string): string => text.replace(ESCAPES, '').replace(CONTROLS, '')

/** Anything but a string becomes JSON. */
export function plainText(text: unknown): string {
  const whole = typeof text === 'string' ? text : (JSON.stringify(text, null, 2) ?? '')
  return strip(whole).replace(/\r\n?/g, '\n')
}

/** The first line of Markdown, without the marks of what is bold or code: for where there is room for one. */
export const firstLine = (text: string): string =>
  (plainText(text).trim().split('\n', 1)[0] ?? '').replace(/\*\*([^*]+)\*\*|`([^`]+)`/g, '$1$2')

/** Plain text of what comes in chunks, which may cut a sequence anywhere. Carriage returns stay. */
export class EscapeFilter {
  #held = ''

  push(chunk: string): string {
    const text = this.#held + chunk
    const cut = UNFINISHED.exec(text)?.index ?? text.length
    // A sequence that never ends must not swallow all that follows.
    const is_endless = text.length - cut > LONGEST_SEQUENCE
    this.#held = is_endless ? '' : text.slice(cut)
    return strip(is_endless ? text : text.slice(0, cut))
  }
}
