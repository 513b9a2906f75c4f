import type { ModelApi, ModelUsage } from './gateway.ts'
import { MAY_BE_FAULT, readFault } from './model-fault.ts'

/** A line of a stream, or an answer in one piece, of which no more is read. */
const MAX_BYTES = 16 * 1024 ** 2
const FIRST_BYTES = 16_384
const BYTES_OF_A_TOKEN = 4

/** Reads what an answer has cost while it passes by. */
export interface ModelMeter {
  push(piece: Buffer): void
  /** `whole`: the answer came to its end. `request_bytes`: what was asked, for where the answer does not say. */
  end(answer: { whole: boolean; request_bytes: number }): Omit<ModelUsage, 'provider'>
  /** What the answer itself says that it failed with, once it has ended, as `readFault` writes it; `null`: nothing. */
  fault(): string | null
}

/** What was said so far; the last word counts. */
interface Said {
  model: string | null
  usage: Record<string, unknown>
  fault: string | null
}

/** `streams`: the answer is one of server-sent events. `is_silent`: it has nothing that a model has written. */
export function createModelMeter(api: ModelApi, streams: boolean, is_silent = false): ModelMeter {
  const said: Said = { model: null, usage: {}, fault: null }
  let bytes = 0
  let events = 0
  // One buffer that grows: an answer in pieces of a byte, kept as they are, takes hundreds of times its size.
  let store = Buffer.alloc(0)
  let held = 0
  const hold = (piece: Buffer) => {
    const end = held + piece.length
    if (end > store.length && end <= MAX_BYTES) {
      const larger = Buffer.allocUnsafeSlow(Math.min(MAX_BYTES, Math.max(FIRST_BYTES, end, store.length * 2)))
      store.copy(larger, 0, 0, held)
      store = larger
    }
    if (end <= MAX_BYTES) piece.copy(store, held)
    else store = Buffer.alloc(0)
    held = end
  }
  const take = (): string => {
    const text = held <= MAX_BYTES ? store.toString('utf8', 0, held) : ''
    held = 0
    return text
  }
  const readLine = (line: string) => {
    if (!line.startsWith('data:')) return
    events += 1
    if (said.model === null || /"usage/.test(line) || MAY_BE_FAULT.test(line))
      read(said, line.slice('data:'.length))
  }
  return {
    fault: () => said.fault,
    push(piece) {
      bytes += piece.length
      if (!streams) return hold(piece)
      let from = 0
      for (let at = piece.indexOf(0x0a); at !== -1; at = piece.indexOf(0x0a, from)) {
        hold(piece.subarray(from, at))
        readLine(take())
        from = at + 1
      }
      hold(piece.subarray(from))
    },
    end({ whole, request_bytes }) {
      if (streams) readLine(take())
      else read(said, take())
      const counted = COUNTS[api](said.usage)
      const { model } = said
      const guess = {
        input_tokens: Math.ceil(request_bytes / BYTES_OF_A_TOKEN),
        // An event of a stream holds a token or a few; a stream without any is no stream.
        output_tokens: is_silent ? 0 : streams && events > 0 ? events : Math.ceil(bytes / BYTES_OF_A_TOKEN),
      }
      if (!counted) return { model, ...guess, estimated: true }
      if (whole || counted.output_tokens >= guess.output_tokens) return { model, ...counted }
      return { model, ...counted, output_tokens: guess.output_tokens, estimated: true }
    },
  }
}

/** What is no JSON says nothing. */
function read(said: Said, text: string): void {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return
  }
  // Google streams an array where it is not asked for events.
  for (const each of [value].flat()) {
    said.fault ??= readFault(each)
    if (!isObject(each)) continue
    for (const part of [each, each.message, each.response, each.interaction]) {
      if (!isObject(part)) continue
      const model = part.model ?? part.modelVersion
      if (typeof model === 'string') said.model = model.slice(0, 200)
      const usage = part.usage ?? part.usageMetadata
      // Anthropic says a part of it at the beginning, and the rest at the end.
      if (isObject(usage)) said.usage = { ...said.usage, ...present(usage) }
    }
  }
}

type Counted = Pick<
  ModelUsage,
  'input_tokens' | 'output_tokens' | 'cached_input_tokens' | 'cache_write_tokens'
>

/** `null`: the answer did not say. */
const COUNTS: Record<ModelApi, (usage: Record<string, unknown>) => Counted | null> = {
  openai(usage) {
    const input = usage.prompt_tokens ?? usage.input_tokens
    const output = usage.completion_tokens ?? usage.output_tokens
    const details = usage.prompt_tokens_details ?? usage.input_tokens_details
    if (!isObject(details)) return counted([input], [output], undefined)
    // The latter is OpenRouter's.
    return counted([input], [output], details.cached_tokens, details.cache_write_tokens)
  },
  anthropic(usage) {
    const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens, output_tokens } = usage
    const input = [input_tokens, cache_read_input_tokens, cache_creation_input_tokens]
    return counted(input, [output_tokens], cache_read_input_tokens, cache_creation_input_tokens)
  },
  google(usage) {
    const { promptTokenCount, toolUsePromptTokenCount, candidatesTokenCount, thoughtsTokenCount } = usage
    // Of interactions, which have names of their own for all of it.
    if (typeof usage.total_input_tokens === 'number') {
      const { total_input_tokens, total_tool_use_tokens, total_output_tokens, total_thought_tokens } = usage
      const sums = [total_input_tokens, total_tool_use_tokens]
      return counted(sums, [total_output_tokens, total_thought_tokens], usage.total_cached_tokens)
    }
    const input = [promptTokenCount, toolUsePromptTokenCount]
    return counted(input, [candidatesTokenCount, thoughtsTokenCount], usage.cachedContentTokenCount)
  },
}

function counted(input: unknown[], output: unknown[], cached: unknown, written?: unknown): Counted | null {
  if (![...input, ...output].some((each) => typeof each === 'number')) return null
  return {
    input_tokens: sum(input),
    output_tokens: sum(output),
    ...(typeof cached === 'number' ? { cached_input_tokens: sum([cached]) } : {}),
    ...(typeof written === 'number' && written > 0 ? { cache_write_tokens: sum([written]) } : {}),
  }
}

/** What a provider counted may be anything. */
const sum = (numbers: unknown[]): number =>
  numbers.reduce<number>(
    (total, each) =>
      typeof each === 'number' && each > 0 ? Math.min(total + Math.round(each), 2 ** 40) : total,
    0,
  )

const present = (fields: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
