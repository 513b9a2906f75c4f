const MAX_DEPTH = 64

/** Whether the JSON text nests deeper than anything of use: what reads it goes down into it, and a stack ends somewhere. */
export function nestsDeeply(text: string, max = MAX_DEPTH): boolean {
  let depth = 0
  let in_string = false
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at)
    if (in_string) {
      if (unit === BACKSLASH) at += 1
      else if (unit === QUOTE) in_string = false
    } else if (unit === QUOTE) in_string = true
    else if (unit === OBJECT || unit === ARRAY) {
      depth += 1
      if (depth > max) return true
    } else if (unit === OBJECT_END || unit === ARRAY_END) depth -= 1
  }
  return false
}

const [QUOTE, BACKSLASH, OBJECT, OBJECT_END, ARRAY, ARRAY_END] = [0x22, 0x5c, 0x7b, 0x7d, 0x5b, 0x5d]

/** A stranger's words, of a size that fits into a prompt: no control characters, which a terminal obeys. */
export function tame(text: string, max: number): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is left out.
  const clean = text.toWellFormed().replace(/[\0-\x08\x0b-\x1f\x7f-\x9f]/g, '')
  return clean.length > max ? `${clean.slice(0, max).toWellFormed()}[…]` : clean
}
