import type { LanguageModelMiddleware, ProviderMetadata } from 'ai'
import { z } from 'zod'
import { THOUGHTS, THOUGHTS_FIELD } from './endpoint-habits.ts'
import { asList, asRecord, asText } from './values.ts'

/** The fields that a server is given back with one of its answers. */
const GivenBack = z.object({
  /** `provider/model`: what one server wants another may refuse. */
  model_id: z.string(),
  /** Names of fields that had the text of the thoughts. */
  thoughts: z.array(z.string()),
  /** Further fields of the message, as they came. */
  fields: z.record(z.string(), z.json()),
  /** Its calls in their order: their ids as the server made them, and further fields. */
  calls: z.array(z.object({ id: z.string(), fields: z.record(z.string(), z.json()) })),
})
type GivenBack = z.infer<typeof GivenBack>
type Json = GivenBack['fields'][string]

type Prompt = Parameters<NonNullable<LanguageModelMiddleware['transformParams']>>[0]['params']['prompt']
type Message = Prompt[number]
type Answer = Extract<Message, { role: 'assistant' }>

/** The key under which it stands in the log, as what the provider needs to be given back. */
const KEY = 'endpoint'

/**
 * For servers with OpenAI's chat API, of which each has further fields for what a model thought: an answer goes back in later
 * requests with the fields that it came with, to the model it came from, and to no other.
 */
export function giveBack(model_id: string): LanguageModelMiddleware {
  return {
    async transformParams({ params }) {
      const prompt = params.prompt.map((message) =>
        message.role === 'assistant' ? addFields(message, model_id) : message,
      )
      return { ...params, prompt }
    },
    async wrapStream({ model, params }) {
      const { stream, ...result } = await model.doStream({ ...params, includeRawChunks: true })
      const fields = new Fields(model_id)
      type Part = typeof stream extends ReadableStream<infer Each> ? Each : never
      const collected = stream.pipeThrough(
        new TransformStream<Part, Part>({
          transform(part, controller) {
            if (part.type === 'raw') return fields.add(part.rawValue)
            if (part.type === 'reasoning-end') part.providerMetadata = fields.tell(part.providerMetadata)
            // Fields may come after the thoughts, such as those of a call.
            if (part.type === 'finish' && fields.has_news) {
              const id = 'given-back'
              controller.enqueue({ type: 'reasoning-start', id })
              controller.enqueue({ type: 'reasoning-end', id, providerMetadata: fields.tell() })
            }
            controller.enqueue(part)
          },
        }),
      )
      return { ...result, stream: collected }
    },
  }
}

function addFields(message: Answer, model_id: string): Answer {
  const parts = message.content
  const thoughts = parts.flatMap((part) => (part.type === 'reasoning' ? [part.text] : [])).join('')
  const found = parts.flatMap((part) =>
    part.type === 'reasoning' ? (GivenBack.safeParse(part.providerOptions?.[KEY]).data ?? []) : [],
  )
  const given = found.findLast((each) => each.model_id === model_id)
  const texts = Object.fromEntries((given?.thoughts ?? []).map((name) => [name, thoughts]))
  const ids = new Map<string, string>()
  let call = -1
  const content = parts.flatMap((part): Answer['content'] => {
    if (part.type === 'reasoning') return []
    if (part.type !== 'tool-call') return [part]
    call += 1
    const known = given?.calls[call]
    if (known) ids.set(known.id, part.toolCallId)
    return [
      known
        ? { ...part, providerOptions: { ...part.providerOptions, openaiCompatible: known.fields } }
        : part,
    ]
  })
  const fields = Object.entries(given?.fields ?? {}).map(([name, value]) => [name, renameIds(value, ids)])
  const openaiCompatible = {
    ...Object.fromEntries(fields),
    ...texts,
    ...(thoughts !== '' && { [THOUGHTS_FIELD]: thoughts }),
  }
  return { ...message, content, providerOptions: { ...message.providerOptions, openaiCompatible } }
}

/** Entries that belong to a call name it by its id, and calls have other ones in our requests. */
function renameIds(value: Json, ids: ReadonlyMap<string, string>): Json {
  if (typeof value === 'string') return ids.get(value) ?? value
  if (Array.isArray(value)) return value.map((item) => renameIds(item, ids))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, renameIds(item, ids)]))
}

/** Collects the fields of one answer, piece by piece. */
class Fields {
  readonly #model_id: string
  readonly #thoughts = new Set<string>()
  readonly #fields: Record<string, unknown> = {}
  readonly #calls: Array<{ id: string; fields: Record<string, unknown> }> = []

  #told = 'null'

  constructor(model_id: string) {
    this.#model_id = model_id
  }

  add(chunk: unknown): void {
    const [choice] = asList(asRecord(chunk).choices)
    const { give_back, tool_calls } = asRecord(asRecord(choice).delta)
    for (const [name, value] of Object.entries(asRecord(give_back))) {
      if (typeof value === 'string' && THOUGHTS.test(name) && !/signature|encrypted|opaque/.test(name))
        this.#thoughts.add(name)
      else this.#fields[name] = merge(this.#fields[name], value)
    }
    for (const call of asList(tool_calls).map(asRecord)) {
      const { index, id, type: _type, function: _function, ...more } = call
      const known = this.#calls[Number(index)]
      if (known) Object.assign(known.fields, more)
      else this.#calls[Number(index)] = { id: asText(id) ?? '', fields: more }
    }
  }

  /** Something that was not told yet. */
  get has_news(): boolean {
    const given = this.#given
    return given !== null && JSON.stringify(given) !== this.#told
  }

  /** The metadata for the log: these fields, added to the provider's own. */
  tell(others: ProviderMetadata = {}): ProviderMetadata {
    const given = this.#given
    this.#told = JSON.stringify(given)
    return given ? { ...others, [KEY]: given } : others
  }

  /** `null`: the answer had nothing of the kind. */
  get #given(): GivenBack | null {
    const has_calls = this.#calls.some(({ fields }) => Object.keys(fields).length > 0)
    if (this.#thoughts.size === 0 && Object.keys(this.#fields).length === 0 && !has_calls) return null
    const given = { thoughts: [...this.#thoughts], fields: this.#fields, calls: this.#calls }
    return GivenBack.safeParse({ model_id: this.#model_id, ...given }).data ?? null
  }
}

/** Pieces of one value: texts go on, and so do the texts of entries with the same place. */
function merge(known: unknown, more: unknown): unknown {
  if (known === undefined) return Array.isArray(more) ? [...more] : more
  if (typeof known === 'string' && typeof more === 'string') return known + more
  if (!Array.isArray(known) || !Array.isArray(more))
    return typeof more === 'object' && more !== null ? { ...asRecord(known), ...more } : more
  // In place: there may be one for each word.
  for (const entry of more) {
    const at = known.findLastIndex((each) => isSamePlace(asRecord(each), asRecord(entry)))
    if (at < 0) known.push(entry)
    else known[at] = mergeEntry(asRecord(known[at]), asRecord(entry))
  }
  return known
}

/** Whole entries, as encrypted ones are, have no text that could go on. */
const isSamePlace = (one: Record<string, unknown>, other: Record<string, unknown>): boolean =>
  one.type === other.type &&
  one.index === other.index &&
  // Without a place they go on until one is signed.
  (one.index !== undefined || !one.signature) &&
  (one.id ?? other.id) === (other.id ?? one.id) &&
  !('data' in other)

const mergeEntry = (
  entry: Record<string, unknown>,
  more: Record<string, unknown>,
): Record<string, unknown> => ({
  ...entry,
  ...more,
  ...Object.fromEntries(
    ['text', 'summary', 'thinking'].flatMap((name) =>
      typeof entry[name] === 'string' && typeof more[name] === 'string'
        ? [[name, entry[name] + more[name]]]
        : [],
    ),
  ),
})
