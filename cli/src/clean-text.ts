import { stripVTControlCharacters } from 'node:util'

const ESCAPE = '\u001b'
/** Longer than any escape sequence of use; what goes on for longer is not waited for. */
const LONGEST_ESCAPE = 512

// Bidirectional overrides make text read differently from what it is (CVE-2021-42574).
const UNSAFE = /[^\P{Cc}\n\t]|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/**
 * Text of an agent made safe for a terminal: without escape sequences, control characters other than line feed and tab, and
 * bidirectional overrides. Of a line that was overwritten with carriage returns, its last state is kept.
 */
export function cleanText(text: string): string {
  const plain = stripVTControlCharacters(text).replaceAll('\r\n', '\n')
  const settled = plain.includes('\r') ? plain.replace(/[^\n]*\r(?=[^\n])/g, '') : plain
  return settled.replace(UNSAFE, '')
}

/** Cleans text that comes in pieces: an escape sequence cut in two is held back until it is whole. */
export class TextCleaner {
  #held = ''

  push(piece: string): string {
    const text = this.#held + piece
    const start = text.lastIndexOf(ESCAPE)
    this.#held = start >= 0 && isUnfinished(text.slice(start + 1)) ? text.slice(start) : ''
    return cleanText(text.slice(0, text.length - this.#held.length))
  }
}

/** What follows an escape character, and is not yet a whole sequence (ECMA-48, 5.4 and 5.6). */
function isUnfinished(sequence: string): boolean {
  if (sequence.length > LONGEST_ESCAPE) return false
  if (/^[\]PX^_]/.test(sequence)) return !sequence.includes('\u0007')
  return /^(\[[0-?]*[ -/]*|[ -/]*)$/.test(sequence)
}
