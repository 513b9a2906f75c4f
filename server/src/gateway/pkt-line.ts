/** The lines that git's protocols are made of (gitprotocol-common(5)): four hexadecimal digits of length, themselves counted. */

const LENGTH_BYTES = 4
/** The longest line, its length included. */
const MAX_LINE = 65_520
/** Between groups of lines. */
export const FLUSH = '0000'

export class BrokenLines extends Error {}

export const writeLine = (content: Uint8Array | string): Buffer => {
  const bytes = Buffer.from(content as string)
  const length = (bytes.length + LENGTH_BYTES).toString(16).padStart(LENGTH_BYTES, '0')
  return Buffer.concat([Buffer.from(length), bytes])
}

/**
 * The whole lines from `at` on, to the first flush or as far as they have come. `at`: behind them, the flush included. Throws
 * `BrokenLines`.
 */
export function readLines(bytes: Buffer, at = 0): { lines: Buffer[]; at: number; is_end: boolean } {
  const lines: Buffer[] = []
  for (let place = at; ; ) {
    if (place + LENGTH_BYTES > bytes.length) return { lines, at: place, is_end: false }
    const digits = bytes.toString('latin1', place, place + LENGTH_BYTES)
    const length = /^[0-9a-f]{4}$/i.test(digits) ? Number.parseInt(digits, 16) : -1
    if (length === 0) return { lines, at: place + LENGTH_BYTES, is_end: true }
    if (length <= LENGTH_BYTES || length > MAX_LINE) throw new BrokenLines('It is no line of git’s protocol.')
    if (place + length > bytes.length) return { lines, at: place, is_end: false }
    lines.push(bytes.subarray(place + LENGTH_BYTES, place + length))
    place += length
  }
}
