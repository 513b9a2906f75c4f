/** What bytes are that are not read here: their encoding, and what to do about it. */
export interface Undecoded {
  is: string
  hint: string
}

/**
 * Text as editors and shells write it: UTF-8, and UTF-16 as PowerShell's `>` and Notepad do, each with or without a mark of its
 * byte order. Anything else is named in place of being sent as other letters.
 */
export function decodeText(bytes: Uint8Array): { text: string } | Undecoded {
  const [first, second, third, fourth] = bytes
  if (first === 0xff && second === 0xfe && third === 0 && fourth === 0 && bytes.length % 4 === 0)
    return UTF_32
  if (first === 0 && second === 0 && third === 0xfe && fourth === 0xff) return UTF_32
  if (first === 0xff && second === 0xfe) return decode(bytes, 'utf-16le') ?? BINARY
  if (first === 0xfe && second === 0xff) return decode(bytes, 'utf-16be') ?? BINARY
  if (bytes.includes(0)) {
    const order = byteOrderOf(bytes)
    return (order && decode(bytes, order)) || BINARY
  }
  return decode(bytes, 'utf-8') ?? (isPrintable(bytes) ? ONE_BYTE : BINARY)
}

const UTF_32: Undecoded = { is: 'text in UTF-32', hint: 'convert it first: iconv -f UTF-32 -t UTF-8 FILE' }
const ONE_BYTE: Undecoded = {
  is: 'text in an encoding of one byte a letter, such as Latin-1 (ISO-8859-1) or Windows-1252',
  hint: 'convert it first, for example: iconv -f WINDOWS-1252 -t UTF-8 FILE',
}
const BINARY: Undecoded = { is: 'binary', hint: 'attach it to the run instead: --attach FILE' }

function decode(bytes: Uint8Array, encoding: string): { text: string } | null {
  try {
    const text = new TextDecoder(encoding, { fatal: true }).decode(bytes)
    return text.includes('\0') ? null : { text }
  } catch {
    return null
  }
}

/** Of text in Latin letters every second byte is empty, and no other. */
function byteOrderOf(bytes: Uint8Array): 'utf-16le' | 'utf-16be' | null {
  if (bytes.length % 2 !== 0) return null
  const empty = [0, 0]
  for (const [at, byte] of bytes.entries()) if (byte === 0) empty[at % 2] = (empty[at % 2] ?? 0) + 1
  const [high = 0, low = 0] = empty
  if (high > 0 && low > 0) return null
  // A few letters may be others.
  if (Math.max(high, low) * 4 < bytes.length) return null
  return low > 0 ? 'utf-16le' : 'utf-16be'
}

/** Without control characters, which no such text has but for blanks and line ends. */
const isPrintable = (bytes: Uint8Array): boolean =>
  bytes.every(
    (byte) =>
      byte >= 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d || byte === 0x0c || byte === 0x1b,
  )
