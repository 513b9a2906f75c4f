import type { Turn } from './harness.ts'
import { tame } from './mcp-limits.ts'
import type { ToolServices } from './tool-services.ts'
import { readWebAddress, tellAddress } from './tools/web-address.ts'

const MAX_BYTES = 5 * 1024 ** 2
const MAX_REDIRECTS = 5
const HEADERS = {
  accept: 'text/markdown, text/html;q=0.9, application/json;q=0.9, text/plain;q=0.8, */*;q=0.5',
  'user-agent': 'runyard-agent',
}
/** What may be text; of what is not told the bytes decide. */
const TEXT = /^(text\/|application\/(.+[+])?(json|xml|javascript|yaml|toml|x-yaml|x-sh|sql)|image\/svg)/
const UNKNOWN = /^(|application\/octet-stream|binary\/octet-stream)$/

export interface Page {
  /** Where it was found, behind all redirects; without the values of secrets. */
  url: string
  status: number
  /** As its server calls it, without parameters. */
  type: string
  text: string
  /** There is more than is read. */
  is_cut: boolean
}

type FetchPage = NonNullable<ToolServices['fetchPage']>

/** Gets what is at an address as text. Every redirect is a request of its own, which the network policy judges anew. */
export async function fetchText(
  fetchPage: FetchPage,
  address: string,
  { signal, mask }: Pick<Turn, 'signal' | 'mask'>,
): Promise<Page | { refusal: string }> {
  let next = address
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects += 1) {
    const url = readWebAddress(next)
    if ('refusal' in url)
      return redirects === 0
        ? url
        : { refusal: `It leads to another address, which is not asked. ${url.refusal}` }
    url.hash = ''
    const response = await fetchPage(url, { headers: HEADERS, signal })
    const location = response.headers.get('location')
    if (![301, 302, 303, 307, 308].includes(response.status) || location === null)
      return readText(tellAddress(url.href, mask), response, signal)
    await response.body?.cancel()
    const target = URL.parse(location, url.href)
    if (!target) return { refusal: 'It leads to another address, which is none.' }
    next = target.href
  }
  return { refusal: `It leads to another address more than ${MAX_REDIRECTS} times.` }
}

async function readText(
  url: string,
  response: Response,
  signal: AbortSignal,
): Promise<Page | { refusal: string }> {
  const { headers, status } = response
  const [given = '', ...parameters] = (headers.get('content-type') ?? '').toLowerCase().split(';')
  const type = tame(given.trim(), 100)
  const length = Number(headers.get('content-length'))
  const binary = (size: string): { refusal: string } => ({
    refusal: `${url} is no text: ${type || 'of no known type'}, ${size}. Download it with bash where you need it.`,
  })
  if (!TEXT.test(type) && !UNKNOWN.test(type)) {
    await response.body?.cancel()
    return binary(length > 0 ? `${length} bytes` : 'its size is not told')
  }
  const body = unpack(response)
  if (body === undefined) return { refusal: `${url} comes packed in a way that is not known.` }
  const { bytes, is_cut } = await readSome(body, signal)
  const text = decode(bytes, parameters, is_cut)
  if (text === null) return binary(is_cut ? `more than ${bytes.length} bytes` : `${bytes.length} bytes`)
  return { url, status, type, text, is_cut }
}

/** Nobody asked for it packed; some servers do it all the same. */
function unpack({ headers, body }: Response): ReadableStream<Uint8Array> | null | undefined {
  const encoding = headers.get('content-encoding')?.trim().toLowerCase() ?? ''
  if (encoding === '' || encoding === 'identity') return body
  if (encoding !== 'gzip' && encoding !== 'deflate') return undefined
  return (
    body?.pipeThrough(new DecompressionStream(encoding) as TransformStream<Uint8Array, Uint8Array>) ?? null
  )
}

async function readSome(
  body: ReadableStream<Uint8Array> | null,
  signal: AbortSignal,
): Promise<{ bytes: Buffer; is_cut: boolean }> {
  const reader = body?.getReader()
  const pieces: Uint8Array[] = []
  let size = 0
  const stop = () => void reader?.cancel(signal.reason).catch(() => {})
  signal.addEventListener('abort', stop, { once: true })
  try {
    while (reader && size <= MAX_BYTES) {
      const { done, value } = await reader.read()
      signal.throwIfAborted()
      if (done) break
      pieces.push(value)
      size += value.length
    }
  } finally {
    signal.removeEventListener('abort', stop)
    stop()
  }
  return { bytes: Buffer.concat(pieces).subarray(0, MAX_BYTES), is_cut: size > MAX_BYTES }
}

/** `null`: it is no text. */
function decode(bytes: Buffer, parameters: readonly string[], is_cut: boolean): string | null {
  const named = parameters.map((parameter) => /^\s*charset\s*=\s*"?([\w.:-]{1,40})/.exec(parameter)?.[1])
  const in_page = /<meta[^>]{0,200}charset\s*=\s*["']?([\w.:-]{1,40})/i.exec(
    bytes.toString('latin1', 0, 2_048),
  )?.[1]
  for (const label of [...named, in_page, 'utf-8']) {
    if (label === undefined) continue
    const text = decodeAs(bytes, label, is_cut)
    if (text !== null) return text.includes('\0') ? null : text
  }
  return null
}

function decodeAs(bytes: Buffer, label: string, is_cut: boolean): string | null {
  try {
    // The end of what was cut may be half a character.
    return new TextDecoder(label, { fatal: true }).decode(bytes, { stream: is_cut })
  } catch {
    return null
  }
}
