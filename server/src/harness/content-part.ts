import { createHash } from 'node:crypto'
import { z } from 'zod'
import { isRecord } from '../contract/storable-text.ts'

const MAX_FILE_BYTES = 6 * 1024 ** 2
const MAX_UNKNOWN = 2000
/** Characters of what stands before the bytes in a `data:` address, and of a type. */
const MAX_HEAD = 200

const Text = z.string().nullish().catch(undefined)
/** A block of content, as MCP has it and ACP took it over. */
const Part = z.union([
  z.object({ type: z.literal('text'), text: z.unknown().optional() }),
  z.object({ type: z.enum(['image', 'audio']), data: z.string(), mimeType: Text }),
  z.object({ type: z.literal('resource_link'), uri: z.string(), name: Text, description: Text }),
  z.object({
    type: z.literal('resource'),
    resource: z.object({ uri: Text, mimeType: Text, text: Text, blob: Text }),
  }),
])
type Part = z.infer<typeof Part>

export interface DescribedPart {
  /** The part as text; a file is named by where it is kept. */
  text: string
  /** What is to be written there. The same bytes have the same path. */
  file: { path: string; bytes: Buffer } | null
  /** The text where the file could not be written, and why. */
  unkept(why: string): string
}

/** Tells what a tool server or an agent gave, whatever shape it has. Pictures, sound and files become files of the run. */
export function describePart(given: unknown): DescribedPart {
  if (typeof given === 'string') return plain(given)
  const part = Part.safeParse(given)
  if (part.success) return describeKnown(part.data)
  if (!isRecord(given)) return plain(given === null || given === undefined ? '' : JSON.stringify(given))
  if (typeof given.text === 'string') return plain(given.text)
  // What we do not know may mean something to the model.
  return plain(`[a part of a kind that is not known: ${JSON.stringify(given).slice(0, MAX_UNKNOWN)}]`)
}

const plain = (text: string): DescribedPart => ({ text, file: null, unkept: () => text })

function describeKnown(part: Part): DescribedPart {
  if (part.type === 'text') return plain(textOf(part.text))
  if (part.type === 'resource_link')
    return plain(`[link: ${[part.name, part.uri, part.description].filter(Boolean).join(', ')}]`)
  if (part.type !== 'resource') return describeFile(part.type, part)
  const { uri, mimeType, text, blob } = part.resource
  if (typeof blob !== 'string') return plain(uri ? `[${uri}]\n${text ?? ''}` : (text ?? ''))
  const file = describeFile('file', { data: blob, mimeType: mimeType ?? 'application/octet-stream' })
  const named = (said: string) => `${uri || 'resource'}: ${said}`
  return { ...file, text: named(file.text), unkept: (why) => named(file.unkept(why)) }
}

const textOf = (text: unknown): string =>
  typeof text === 'string' ? text : text === null || text === undefined ? '' : JSON.stringify(text)

function describeFile(
  what: string,
  given: { data: string; mimeType?: string | null | undefined },
): DescribedPart {
  // Some write the address that a page would have.
  const address = readAddress(given.data)
  const data = address?.data ?? given.data
  const mimeType = given.mimeType || address?.mimeType || ''
  const type =
    mimeType.length > MAX_HEAD ? null : /^[a-z0-9.+-]+\/([a-z0-9]{1,12})\b[a-z0-9.+-]*$/i.exec(mimeType)
  const bytes = Buffer.from(data, 'base64')
  const told = `${what}, ${type?.[0] ?? 'of unknown type'}, ${bytes.length} bytes`
  if (bytes.length > MAX_FILE_BYTES) return plain(`[${told}: too large to keep]`)
  const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 12)
  const path = `/workspace/artifacts/${what}-${hash}.${type?.[1] ?? 'bin'}`
  return {
    text: `[${told}, kept as ${path}]`,
    file: { path, bytes },
    unkept: (why) => `[${told}: it could not be kept, ${why}]`,
  }
}

/** `data:image/png;base64,` and bytes; `null`: it is no such address. Looks at its head alone: the rest may be megabytes. */
function readAddress(given: string): { mimeType: string; data: string } | null {
  const head = given.slice(0, MAX_HEAD)
  const end = head.indexOf(',')
  if (end === -1 || !head.startsWith('data:')) return null
  const [mimeType = '', ...parameters] = head.slice('data:'.length, end).split(';')
  return parameters.at(-1) === 'base64' ? { mimeType, data: given.slice(end + 1) } : null
}
