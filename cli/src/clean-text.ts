/** Longer than any escape sequence of use; what goes on for longer is not waited for. */
const LONGEST_ESCAPE = 512

/* biome-ignore-start lint/suspicious/noControlCharactersInRegex: control characters are what these look for. */

// Whole escape sequences (ECMA-48): CSI, OSC, the other strings, and the short ones. None reads past the next escape
// character, so that a text full of beginnings costs no more than any other. (Node's stripVTControlCharacters does.)
const ESCAPES =
  /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[PX^_][^\x1b]*\x1b\\|\x1b[ -/]*[0-~]/g
/** The start of one at the end of a piece. */
const UNFINISHED =
  /(?:(?:\x1b\[|\x9b)[0-?]*[ -/]*|\x1b\][^\x07\x1b]*\x1b?|\x1b[PX^_][^\x1b]*\x1b?|\x1b[ -/]*)$/

/* biome-ignore-end lint/suspicious/noControlCharactersInRegex: as above. */

// Bidirectional overrides make text read differently from what it is (CVE-2021-42574).
const UNSAFE = /[^\P{Cc}\n\t]|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/**
 * Text of an agent made safe for a terminal: without escape sequences, control characters other than line feed and tab, and
 * bidirectional overrides. Of a line that was overwritten with carriage returns, its last state is kept.
 */
export function cleanText(text: string): string {
  const plain = text.replace(ESCAPES, '').replaceAll('\r\n', '\n')
  const settled = plain.includes('\r') ? plain.split('\n').map(lastState).join('\n') : plain
  return settled.replace(UNSAFE, '')
}

/** A carriage return at the end overwrites nothing. */
function lastState(line: string): string {
  let end = line.length
  while (line[end - 1] === '\r') end -= 1
  return line.slice(end === 0 ? 0 : line.lastIndexOf('\r', end - 1) + 1, end)
}

/** Cleans text that comes in pieces: an escape sequence cut in two is held back until it is whole. */
export class TextCleaner {
  #held = ''

  push(piece: string): string {
    const text = this.#held + piece
    const start = UNFINISHED.exec(text)?.index ?? text.length
    this.#held = text.length - start > LONGEST_ESCAPE ? '' : text.slice(start)
    return cleanText(text.slice(0, text.length - this.#held.length))
  }
}
