import type { RequestUsage } from '../contract/request-usage.ts'
import type { ListedRun } from '../store/run-list.ts'
import type { UsageOfRun } from '../store/run-usage.ts'

type Used = Pick<ListedRun, 'input_tokens' | 'output_tokens' | 'inference_cost_usd' | 'usage'>

const CENTS = 100
const FREE = { compute_cost: 0, compute_cost_usd: 0, platform_cost: 0, platform_cost_usd: 0 }

/** What models cost the run, as callers see it; nothing where no model was asked. */
export function viewUsage({ input_tokens, output_tokens, inference_cost_usd, usage }: Used): {
  request_usage?: RequestUsage
} {
  const total_tokens = whole(input_tokens + output_tokens)
  if (total_tokens === 0) return {}
  const priced = inference_cost_usd > 0 ? { inference_cost_usd, inference_cost: inference_cost_usd } : {}
  const sum = (name: 'cache_read_tokens' | 'cache_write_tokens') =>
    whole(usage.reduce((total, used) => total + used[name], 0))
  return {
    request_usage: {
      ...priced,
      ...FREE,
      ...{ input_tokens, output_tokens, total_tokens },
      ...{ cache_read_tokens: sum('cache_read_tokens'), cache_write_tokens: sum('cache_write_tokens') },
      model_token_usage: [...Map.groupBy(usage, ({ model_id }) => model_id)].map(([model_id, parts]) => ({
        model_id,
        total_tokens: whole(parts.reduce((total, part) => total + tokensOf(part), 0)),
        usage_type: 'warp' as const,
        tokens_by_category: Object.fromEntries(parts.map((part) => [part.category, tokensOf(part)])),
      })),
      usage_by_category: Object.fromEntries(
        [...Map.groupBy(usage, ({ category }) => category)].map(([category, parts]) => [
          category,
          {
            platform_usage_in_cents: 0,
            direct_api_inference_usage: Object.fromEntries(
              parts.map((part) => [part.model_id, viewPart(part)]),
            ),
          },
        ]),
      ),
    },
  }
}

const whole = (tokens: number): number => Math.min(tokens, Number.MAX_SAFE_INTEGER)
const tokensOf = ({ input_tokens, output_tokens }: UsageOfRun): number => whole(input_tokens + output_tokens)

const viewPart = (part: UsageOfRun) => ({
  token_count: {
    input: Math.max(0, part.input_tokens - part.cache_read_tokens - part.cache_write_tokens),
    input_cache_read: part.cache_read_tokens,
    input_cache_write: part.cache_write_tokens,
    output: part.output_tokens,
  },
  cost_in_cents: {
    input_cost_in_cents: part.input_cost_usd * CENTS,
    input_cache_read_cost_in_cents: part.cache_read_cost_usd * CENTS,
    input_cache_write_cost_in_cents: part.cache_write_cost_usd * CENTS,
    output_cost_in_cents: part.output_cost_usd * CENTS,
  },
  web_search_count: 0,
  web_search_cost_in_cents: 0,
})
