import { randomInt } from 'node:crypto'
import picocolors from 'picocolors'
import { cleanText } from './clean-text.ts'

const STYLES = ['bold', 'dim', 'italic', 'red', 'green', 'yellow', 'cyan', 'reset'] as const
export type Colors = Record<(typeof STYLES)[number], (text: string) => string>

// Our colour sequences carry these numbers until they are written. Nobody else knows them, so no text from elsewhere passes
// for one; and as parameters they have no width to those who measure text.
const SEAL = Array.from({ length: 3 }, () => randomInt(1000, 10_000)).join(';')
const SEALED = new RegExp(`\\u001b\\[(\\d+);${SEAL}m`, 'g')
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the sequences.
const PLAIN = /\u001b\[(\d+)m/g

/** Functions that paint a text, or leave it as it is. */
export function createColors(enabled: boolean): Colors {
  const plain = picocolors.createColors(enabled)
  const paint = (style: (typeof STYLES)[number]) => (text: string) =>
    enabled ? plain[style](toPrintable(text)).replace(PLAIN, `\u001b[$1;${SEAL}m`) : text
  return Object.fromEntries(STYLES.map((style) => [style, paint(style)])) as Colors
}

/** The text as it may be written to a terminal: letters, lines, tabs and our own colours. */
export const toPrintable = (text: string): string =>
  text
    .split(SEALED)
    .map((part, at) => (at % 2 === 1 ? `\u001b[${part}m` : cleanPart(part)))
    .join('')

/** The text with our colours in it, and else as it came. */
export const toRaw = (text: string): string => text.replace(SEALED, '\u001b[$1m')

/** Here a carriage return may stand in the middle of a line of ours, which it must not hide. */
const cleanPart = (text: string): string => cleanText(text.replace(/\r(?!\n)/g, ' '))
