/** A value as programs print it on one line, or as it is. */
export function* plainForms(value: string): Generator<string> {
  yield value
  yield value.trim()
  for (const line of value.split(/\r?\n/)) yield line.trim()
  yield* inUrls(value)
  yield* inCode(value)
  yield* inShells(value)
  yield* inHtml(value)
}

/** A value in alphabets that programs break into lines of one width. */
export function* encodedForms(value: string): Generator<string> {
  const bytes = Buffer.from(value)
  const hex = bytes.toString('hex')
  yield hex
  yield hex.toUpperCase()
  for (const offset of [0, 1, 2]) {
    const text = inBase64(bytes, offset)
    yield text
    yield text.replaceAll('+', '-').replaceAll('/', '_')
  }
}

function* inUrls(value: string): Generator<string> {
  const loose = encodeURIComponent(value.toWellFormed())
  const form = new URLSearchParams([['', value]]).toString().slice(1)
  const strict = loose.replace(/[!'()*]/g, (found) => `%${found.charCodeAt(0).toString(16).toUpperCase()}`)
  const all = [loose, strict, form, strict.replaceAll('%20', '+')]
  for (const text of new Set([...all, ...all.map((text) => text.replaceAll('%2F', '/'))])) {
    yield text
    yield text.replace(/%[0-9A-F]{2}/g, (found) => found.toLowerCase())
  }
}

/** JSON, also in ASCII alone and safe for HTML or with its slashes escaped; strings of Python and JavaScript. */
function* inCode(value: string): Generator<string> {
  const json = JSON.stringify(value).slice(1, -1)
  for (const text of new Set([json, inAscii(json)])) {
    yield text
    yield text.replace(/[<>&]/g, codeOf)
    yield text.replaceAll('/', '\\/')
  }
  for (const special of [/[\\\n\r\t]/g, /[\\\n\r\t']/g, /[\\\n\r\t"]/g, /[\\\n\r\t`]/g])
    yield value.replace(special, (found) => NAMED[found] ?? `\\${found}`)
}

const NAMED: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }
const codeOf = (found: string): string => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what JSON in ASCII leaves as it is.
const inAscii = (text: string): string => text.replace(/[^\x00-\x7e]/g, codeOf)

/** As `set -x`, `export -p`, `declare -p` and `printf %q` of bash and dash quote it. */
function* inShells(value: string): Generator<string> {
  const ansi = value.replace(/[\\'\n\r\t]/g, (found) => NAMED[found] ?? `\\${found}`)
  const backslashes = value.replace(/[\s'"\\|&;()<>!{}*[\]?^$`,]/g, '\\$&')
  yield value.replaceAll("'", "'\\''")
  // Where dash begins or ends with it, one quote is missing.
  yield value.replaceAll("'", `'"'"'`).replace(/^'"|"'$/g, '"')
  yield value.replace(/["$`\\]/g, '\\$&')
  yield ansi
  yield inOctal(ansi)
  yield backslashes
  yield inOctal(backslashes)
}

const inOctal = (text: string): string =>
  text.replace(/[^\p{ASCII}]/gu, (found) =>
    [...Buffer.from(found)].map((byte) => `\\${byte.toString(8)}`).join(''),
  )

function* inHtml(value: string): Generator<string> {
  const text = value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  const quoted = text.replaceAll('"', '&quot;')
  yield text
  yield quoted
  for (const quote of ['&#x27;', '&#39;', '&apos;']) yield quoted.replaceAll("'", quote)
}

/** The bytes inside a longer base64 text that has so many bytes before them: without the characters that they share. */
function inBase64(bytes: Buffer, offset: number): string {
  const text = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64')
  return text.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6))
}
