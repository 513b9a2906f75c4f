/** `unreadable`: it is no JSON object in UTF-8, and others might read it as something else. */
export type FieldSight = 'clear' | 'found' | 'unreadable'

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a]
const OPENS = [0x7b, 0x5b]
const CLOSES = [0x7d, 0x5d]
const BLANKS = [0x20, 0x09, 0x0a, 0x0d]
const [F, N] = [0x66, 0x6e]
/** A longer key is none that is looked for, however it is escaped. */
const MAX_KEY = 256

/**
 * Looks for a field of a JSON object while its bytes pass by, without keeping them: the object's own field, with a value other
 * than `false` and `null`. What is wrong in other ways is left to whoever reads it.
 */
export function watchField(name: string): (piece: Buffer) => FieldSight {
  let sight: FieldSight = 'clear'
  let depth = 0
  let began = false
  let in_string = false
  let escaped = false
  /** Of the string that is being read, where it is a key of the object; `null`: it is none. */
  let key: number[] | null = null
  let comes_key = false
  /** The key that was read is the field's: its value is next. */
  let comes_value = false
  let is_field = false

  const readString = (byte: number): void => {
    if (escaped) escaped = false
    else if (byte === BACKSLASH) escaped = true
    else if (byte === QUOTE) {
      in_string = false
      if (key) is_field = nameOf(key) === name
      key = null
      return
    }
    if (key && key.length < MAX_KEY) key.push(byte)
  }
  const readSign = (byte: number): void => {
    if (byte === QUOTE) {
      in_string = true
      key = comes_key && depth === 1 ? [] : null
    } else if (OPENS.includes(byte)) depth += 1
    else if (CLOSES.includes(byte)) depth -= 1
    else if (depth === 1 && byte === COMMA) comes_key = true
    else if (depth === 1 && byte === COLON) {
      comes_key = false
      comes_value = is_field
      is_field = false
    }
  }
  const begin = (byte: number): void => {
    began = true
    comes_key = true
    depth = 1
    if (byte !== OPENS[0]) sight = 'unreadable'
  }
  const readValue = (byte: number): void => {
    comes_value = false
    if (byte !== F && byte !== N) sight = 'found'
  }
  const readByte = (byte: number): void => {
    if (byte === 0) sight = 'unreadable'
    else if (in_string) readString(byte)
    else if (BLANKS.includes(byte)) return
    else if (!began) begin(byte)
    else if (comes_value) readValue(byte)
    else readSign(byte)
  }
  return (piece) => {
    for (let at = 0; at < piece.length && sight === 'clear'; at += 1) readByte(piece[at] ?? 0)
    return sight
  }
}

/** As it is without escapes; what is no string of JSON is no name. */
function nameOf(bytes: readonly number[]): string | null {
  try {
    return JSON.parse(`"${Buffer.from(bytes).toString()}"`) as string
  } catch {
    return null
  }
}
