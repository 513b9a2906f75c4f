const MAX_DEPTH = 64
/** In one message. Reading so many takes some 40 ms, in which nobody else in the process is served. */
const MAX_VALUES = 200_000

/** How JSON text is built, as far as is needed to say that it goes beyond these; it is not checked to be JSON. */
export interface JsonShape {
  /** It nests deeper than anything of use: what reads it goes down into it, and a stack ends somewhere. */
  is_deep: boolean
  /** It has more fields and items than anything of use. */
  is_manifold: boolean
}

export function measureJson(text: string, max_depth = MAX_DEPTH): JsonShape {
  let depth = 0
  let deepest = 0
  let values = 1
  let in_string = false
  for (let at = 0; at < text.length && values <= MAX_VALUES; at += 1) {
    const unit = text.charCodeAt(at)
    if (in_string) {
      if (unit === BACKSLASH) at += 1
      else if (unit === QUOTE) in_string = false
    } else if (unit === QUOTE) in_string = true
    else if (unit === COMMA) values += 1
    else if (unit === OBJECT || unit === ARRAY) {
      values += 1
      depth += 1
      if (depth > deepest) deepest = depth
    } else if (unit === OBJECT_END || unit === ARRAY_END) depth -= 1
  }
  return { is_deep: deepest > max_depth, is_manifold: values > MAX_VALUES }
}

const [QUOTE, BACKSLASH, OBJECT, OBJECT_END, ARRAY, ARRAY_END, COMMA] = [
  0x22, 0x5c, 0x7b, 0x7d, 0x5b, 0x5d, 0x2c,
]

/** A stranger's words, of a size that fits into a prompt: no control characters, which a terminal obeys. */
export function tame(text: string, max: number): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: those are what is left out.
  const clean = text.toWellFormed().replace(/[\0-\x08\x0b-\x1f\x7f-\x9f]/g, '')
  return clean.length > max ? `${clean.slice(0, max).toWellFormed()}[…]` : clean
}
