import { wrapAnsi } from 'fast-wrap-ansi'

/** Text wrapped on words, its further lines as many columns below its first; without a terminal as it is. */
export function hang(text: string, by: number, columns: number | undefined): string {
  const wrapped = columns === undefined ? text : wrapAnsi(text, Math.max(20, columns - by - 1))
  return wrapped.replaceAll('\n', `\n${' '.repeat(by)}`)
}
