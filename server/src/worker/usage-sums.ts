import type { EventData } from '../contract/event.ts'

type Usage = EventData<'usage'>

const PAUSE_MS = 1_000
/** Models at once in one pause; a server may take any name for one. */
const MAX_MODELS = 32

export interface UsageSums {
  add(usage: Usage): void
  /** Tells what was not told yet. */
  flush(): void
}

/**
 * Tells at once of what models used, and then of each model at most once a second: of all that it used meanwhile. A command can
 * call models, and give calls up, faster than anybody would read of each.
 */
export function createUsageSums(tell: (usages: Usage[]) => void, pause_ms = PAUSE_MS): UsageSums {
  const sums = new Map<string, Usage>()
  let timer: NodeJS.Timeout | undefined
  const flush = (): void => {
    clearTimeout(timer)
    timer = undefined
    if (sums.size === 0) return
    tell([...sums.values()])
    sums.clear()
  }
  const pause = (): void => {
    timer = setTimeout(() => {
      const said = sums.size > 0
      flush()
      if (said) pause()
    }, pause_ms)
  }
  return {
    add(usage) {
      const model_id = sums.size < MAX_MODELS ? usage.model_id : 'others'
      const key = `${usage.estimated ?? false} ${model_id}`
      const known = sums.get(key)
      sums.set(key, known ? sum(known, usage) : { ...usage, model_id })
      if (timer) return
      flush()
      pause()
    },
    flush,
  }
}

function sum(one: Usage, other: Usage): Usage {
  return {
    ...one,
    input_tokens: one.input_tokens + other.input_tokens,
    output_tokens: one.output_tokens + other.output_tokens,
    total_tokens: one.total_tokens + other.total_tokens,
    ...sumKnown('cached_input_tokens', one, other),
    ...sumKnown('cache_write_tokens', one, other),
    ...sumKnown('inference_cost_usd', one, other),
    ...sumParts(one.inference_cost_parts_usd, other.inference_cost_parts_usd),
  }
}

/** Of what one of them may not know. */
function sumKnown(
  name: 'cached_input_tokens' | 'cache_write_tokens' | 'inference_cost_usd',
  one: Usage,
  other: Usage,
) {
  if (one[name] === undefined && other[name] === undefined) return {}
  return { [name]: (one[name] ?? 0) + (other[name] ?? 0) }
}

function sumParts(one: Usage['inference_cost_parts_usd'], other: Usage['inference_cost_parts_usd']) {
  if (!one || !other) return one || other ? { inference_cost_parts_usd: one ?? other } : {}
  const inference_cost_parts_usd = {
    input: one.input + other.input,
    output: one.output + other.output,
    cache_read: one.cache_read + other.cache_read,
    cache_write: one.cache_write + other.cache_write,
  }
  return { inference_cost_parts_usd }
}
