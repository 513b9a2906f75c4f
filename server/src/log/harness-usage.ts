import type { RunEvent } from '../contract/event.ts'
import type { HarnessUsage } from '../contract/harness-usage.ts'

/** The types of events that the usage of a harness is read from. */
export const HARNESS_USAGE_TYPES = ['run.state', 'usage', 'tool.call'] as const

/** Agents that count in a way of their own, by the names that runs have for them. */
const HARNESSES = { claude: 'CLAUDE_CODE', codex: 'CODEX' } as const
type CountingAgent = keyof typeof HARNESSES

export const countsItself = (agent: string): agent is CountingAgent => Object.hasOwn(HARNESSES, agent)

interface Tokens {
  input: number
  output: number
  cache_read: number
  cache_write: number
}

/** What a run of one of these agents has used so far, in that agent's own terms, read from its log in order. */
export class HarnessUsageCount {
  readonly #models = new Map<string, Tokens>()
  readonly #calls = new Map<string, number>()
  readonly #seen_calls = new Set<string>()
  #is_partial = false
  #execution = 1
  #last: { occurred_at: string; sequence: number; execution: number } | null = null

  add(event: RunEvent): void {
    if (event.type === 'run.state') this.#execution = event.data.execution
    else if (event.type === 'tool.call') {
      const { tool_call_id, name } = event.data
      // An agent may tell of a call again, once it knows more of it.
      if (this.#seen_calls.has(tool_call_id)) return
      this.#seen_calls.add(tool_call_id)
      this.#calls.set(name, (this.#calls.get(name) ?? 0) + 1)
    } else if (event.type === 'usage') {
      const { model_id, input_tokens, output_tokens, cached_input_tokens, cache_write_tokens } = event.data
      const { input, output, cache_read, cache_write } = this.#models.get(model_id) ?? NOTHING
      this.#models.set(model_id, {
        input: input + input_tokens,
        output: output + output_tokens,
        cache_read: cache_read + (cached_input_tokens ?? 0),
        cache_write: cache_write + (cache_write_tokens ?? 0),
      })
      this.#is_partial ||= event.data.estimated === true
    } else return
    if (event.type === 'run.state') return
    const { occurred_at, sequence } = event
    this.#last = { occurred_at, sequence, execution: this.#execution }
  }

  /** `null`: nothing was used yet. */
  read(agent: CountingAgent): HarnessUsage | null {
    if (!this.#last) return null
    const by_model = [...this.#models].map(([model, tokens]) => ({ model, tokens }))
    const captured = {
      capturedAt: this.#last.occurred_at,
      captureSequence: this.#last.sequence,
      executionId: this.#last.execution,
      metricsVersion: 1,
    } as const
    const coverage = {
      tokenStatus: by_model.length === 0 ? 'unavailable' : this.#is_partial ? 'partial' : 'known',
      toolStatus: 'known',
    } as const
    const byName = Object.fromEntries(this.#calls)
    const toolCalls = { byName, total: this.#seen_calls.size }
    const harness = HARNESSES[agent]
    const payload = <T>(count: (tokens: Tokens) => T) =>
      by_model.length === 0
        ? { toolCalls }
        : {
            usage: count(by_model.map(({ tokens }) => tokens).reduce(sum)),
            attribution: by_model.map(({ model, tokens }) => ({ model, usage: count(tokens) })),
            toolCalls,
          }
    return harness === 'CLAUDE_CODE'
      ? { harness, ...captured, snapshot: { coverage, payload: payload(asClaude) } }
      : { harness, ...captured, snapshot: { coverage, payload: payload(asCodex) } }
  }
}

const NOTHING: Tokens = { input: 0, output: 0, cache_read: 0, cache_write: 0 }

const sum = (one: Tokens, other: Tokens): Tokens => ({
  input: one.input + other.input,
  output: one.output + other.output,
  cache_read: one.cache_read + other.cache_read,
  cache_write: one.cache_write + other.cache_write,
})

const asClaude = ({ input, output, cache_read, cache_write }: Tokens) => ({
  input_tokens: Math.max(0, input - cache_read - cache_write),
  output_tokens: output,
  cache_read_input_tokens: cache_read,
  cache_creation_input_tokens: cache_write,
})

const asCodex = ({ input, output, cache_read, cache_write }: Tokens) => ({
  input_tokens: input,
  output_tokens: output,
  cached_input_tokens: cache_read,
  cache_write_input_tokens: cache_write,
  total_tokens: input + output,
})
