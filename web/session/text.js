// @ts-check
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

/** @param {string} text */
const strip = (text) => text.replace(ESCAPES, '').replace(CONTROLS, '')

/**
 * @param {unknown} text Anything but a string becomes JSON.
 * @returns {string}
 */
export function plainText(text) {
  const whole = typeof text === 'string' ? text : (JSON.stringify(text, null, 2) ?? '')
  return strip(whole).replace(/\r\n?/g, '\n')
}

/** The same for text that comes in chunks, which may cut a sequence anywhere. Carriage returns stay. */
export class EscapeFilter {
  #held = ''

  /** @param {string} chunk */
  push(chunk) {
    const text = this.#held + chunk
    const cut = UNFINISHED.exec(text)?.index ?? text.length
    // A sequence that never ends must not swallow all that follows.
    const is_endless = text.length - cut > LONGEST_SEQUENCE
    this.#held = is_endless ? '' : text.slice(cut)
    return strip(is_endless ? text : text.slice(0, cut))
  }
}

/** @param {number} milliseconds */
export function formatDuration(milliseconds) {
  if (milliseconds < 1000) return `${Math.max(0, Math.round(milliseconds))} ms`
  if (milliseconds < 9_950) return `${(milliseconds / 1000).toFixed(1)} s`
  const seconds = Math.round(milliseconds / 1000)
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** @param {number} bytes */
export function formatBytes(bytes) {
  const units = ['B', 'kB', 'MB', 'GB']
  let value = bytes
  let unit = 0
  for (; value >= 1000 && unit < units.length - 1; unit += 1) value /= 1000
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`
}

/** @param {number} dollars */
export const formatCost = (dollars) => `$${dollars.toFixed(dollars < 1 ? 4 : 2)}`
