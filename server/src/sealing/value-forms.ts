/** A value as programs print it on one line, or as it is. */
export function plainForms(value: string): string[] {
  const lines = value.split(/\r?\n/).map((line) => line.trim())
  return [
    value,
    value.trim(),
    ...lines,
    ...inUrls(value),
    ...inCode(value),
    ...inShells(value),
    ...inHtml(value),
  ]
}

/** A value in alphabets that programs break into lines of one width. */
export function encodedForms(value: string): string[] {
  const bytes = Buffer.from(value)
  const hex = bytes.toString('hex')
  const base64 = [0, 1, 2].map((offset) => inBase64(bytes, offset))
  return [
    hex,
    hex.toUpperCase(),
    ...base64,
    ...base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_')),
  ]
}

function inUrls(value: string): string[] {
  const loose = encodeURIComponent(value.toWellFormed())
  const form = new URLSearchParams([['', value]]).toString().slice(1)
  const strict = loose.replace(/[!'()*]/g, (found) => `%${found.charCodeAt(0).toString(16).toUpperCase()}`)
  const all = [loose, strict, form, strict.replaceAll('%20', '+')]
  return [...all, ...all.map((text) => text.replaceAll('%2F', '/'))].flatMap((text) => [
    text,
    text.replace(/%[0-9A-F]{2}/g, (found) => found.toLowerCase()),
  ])
}

/** JSON, also in ASCII alone and safe for HTML or with its slashes escaped; strings of Python and JavaScript. */
function inCode(value: string): string[] {
  const json = JSON.stringify(value).slice(1, -1)
  const quoted = (quote: string) =>
    [...value].map((found) => (found === '\\' || found === quote ? `\\${found}` : named(found))).join('')
  return [
    ...[json, inAscii(json)],
    ...[json, inAscii(json)].map((text) => text.replace(/[<>&]/g, codeOf)),
    json.replaceAll('/', '\\/'),
    inAscii(json).replaceAll('/', '\\/'),
    quoted("'"),
    quoted('"'),
    quoted('`'),
    quoted(''),
  ]
}

const NAMED: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }
const named = (found: string): string => NAMED[found] ?? found
const codeOf = (found: string): string => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what JSON in ASCII leaves as it is.
const inAscii = (text: string): string => text.replace(/[^\x00-\x7e]/g, codeOf)

/** As `set -x`, `export -p`, `declare -p` and `printf %q` of bash and dash quote it. */
function inShells(value: string): string[] {
  const ansi = value.replace(/[\\'\n\r\t]/g, (found) => NAMED[found] ?? `\\${found}`)
  const backslashes = value.replace(/[\s'"\\|&;()<>!{}*[\]?^$`,]/g, '\\$&')
  return [
    value.replaceAll("'", "'\\''"),
    // Where dash begins or ends with it, one quote is missing.
    value.replaceAll("'", `'"'"'`).replace(/^'"|"'$/g, '"'),
    value.replace(/["$`\\]/g, '\\$&'),
    ansi,
    inOctal(ansi),
    backslashes,
    inOctal(backslashes),
  ]
}

const inOctal = (text: string): string =>
  text.replace(/[^\p{ASCII}]/gu, (found) =>
    [...Buffer.from(found)].map((byte) => `\\${byte.toString(8)}`).join(''),
  )

function inHtml(value: string): string[] {
  const text = value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  const quoted = text.replaceAll('"', '&quot;')
  return [text, quoted, ...['&#x27;', '&#39;', '&apos;'].map((quote) => quoted.replaceAll("'", quote))]
}

/** The bytes inside a longer base64 text that has so many bytes before them: without the characters that they share. */
function inBase64(bytes: Buffer, offset: number): string {
  const text = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64')
  return text.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6))
}
