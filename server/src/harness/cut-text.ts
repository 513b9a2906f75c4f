/** Hides the values of an execution's variables. Cut after it, never before: of a value that was cut nobody knows it. */
export type MaskText = (text: string) => string

/** Hides them in a text that comes in pieces: what may be the beginning of one waits for the next piece. */
export interface MaskStream {
  push(piece: string): string
  /** Something is left out here. */
  gap(): string
  end(): string
}

const MAX_TITLE = 80

/** A line for people. */
export function shorten(line: string, mask: MaskText): string {
  if (line.length <= MAX_TITLE) return line
  const masked = mask(line)
  return masked.length <= MAX_TITLE ? masked : `${masked.slice(0, MAX_TITLE - 1).toWellFormed()}…`
}

/** Keeps the first and the last half of a text that is too long, and says how much is missing in between, and `more` of that. */
export function clip(text: string, max: number, mask: MaskText, more = ''): string {
  if (text.length <= max) return text
  const masked = mask(text)
  if (masked.length <= max) return masked
  const half = Math.floor(max / 2)
  const head = masked.slice(0, half).toWellFormed()
  const tail = masked.slice(-half).toWellFormed()
  return `${head}\n[… ${masked.length - 2 * half} characters left out${more} …]\n${tail}`
}

/** Keeps the beginning of a line that is too long. */
export function cutLine(line: string, max: number, mask: MaskText): string {
  if (line.length <= max) return line
  const masked = mask(line)
  if (masked.length <= max) return masked
  return `${masked.slice(0, max).toWellFormed()}[… ${masked.length - max} more characters]`
}
