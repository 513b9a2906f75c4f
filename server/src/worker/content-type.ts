/** What is looked at of a file, from its beginning. */
export const HEAD_BYTES = 4_100

/** What kind of text it is, its name may say: no program acts on any of these. */
const TEXT_TYPES: Record<string, string> = {
  csv: 'text/csv',
  diff: 'text/x-diff',
  json: 'application/json',
  md: 'text/markdown',
  patch: 'text/x-diff',
}

/** Control bytes that no text has (the WHATWG's "binary data bytes"). */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const BINARY = /[\0-\x08\x0b\x0e-\x1a\x1c-\x1f]/
/** What browsers take for a page (WHATWG MIME Sniffing, 7.1), whatever case and white space. */
const HTML =
  /^\s*<(!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p|!--)[\s>]/i
const MARKUP = /^\s*<[?!a-z]/i
const SVG = /<(\w+:)?svg[\s>]/i

/**
 * The type of a file by its bytes. Its name is an agent's word: it tells kinds of text apart, and never makes a picture, a page
 * or a program of anything.
 */
export async function readContentType(head: Uint8Array, filename: string): Promise<string> {
  // Its readers of every format are loaded with the first file.
  const { fileTypeFromBuffer } = await import('file-type')
  const known = await fileTypeFromBuffer(head)
  if (known && known.mime !== 'application/xml') return known.mime
  // Byte by byte: any bytes are characters then.
  const text = Buffer.from(head)
    .toString('latin1')
    .replace(/^\xef\xbb\xbf/, '')
  if (BINARY.test(text)) return 'application/octet-stream'
  if (MARKUP.test(text) && SVG.test(text)) return 'image/svg+xml'
  if (known) return known.mime
  if (HTML.test(text)) return 'text/html'
  return TEXT_TYPES[filename.split('.').at(-1)?.toLowerCase() ?? ''] ?? 'text/plain'
}
