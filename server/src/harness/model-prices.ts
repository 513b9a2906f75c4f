import { calcPrice, findProvider, type PriceCalculation } from '@pydantic/genai-prices'
import type { ModelPrices } from '../contract/model.ts'

/** Tokens of one request; those from and to a cache are among `input_tokens`. */
export interface CountedTokens {
  input_tokens: number
  output_tokens: number
  cached_input_tokens?: number
  cache_write_tokens?: number
}

/** Of one model. */
export interface ModelFigures {
  context_window?: number
  /** US dollars per million tokens; absent where nobody told us. */
  prices?: ModelPrices
  /** US dollars; absent with the prices. */
  cost(tokens: CountedTokens): number | undefined
}

/** By `provider/model`: what an operator pays, in place of the public prices. */
export type PriceList = Readonly<Record<string, ModelPrices>>

/** The ids by which `genai-prices` knows providers that are named otherwise here. */
const CATALOG_IDS: Readonly<Record<string, string>> = {
  xai: 'x-ai',
  moonshot: 'moonshotai',
  bedrock: 'aws',
  vertex: 'google',
}
const MILLION = 1_000_000

/**
 * What a model costs and how much it takes in: as the operator says, else as the public price lists of `genai-prices` say
 * (their date is that of the package). A provider is known by its address, never by the names of its models: what a
 * gateway or a machine of one's own charges is nobody's business to guess.
 */
export function readFigures(
  { provider, base_url, id }: { provider: string; base_url: string; id: string },
  own: PriceList = {},
): ModelFigures {
  const public_price = lookUp(base_url, CATALOG_IDS[provider] ?? provider, id, NOTHING)
  const context_window = public_price?.model.context_window
  const window = context_window ? { context_window } : {}
  const listed = own[`${provider}/${id}`]
  if (listed) return { ...window, prices: listed, cost: (tokens) => priceAt(listed, tokens) }
  const prices = public_price && publicPrices(public_price)
  if (!prices) return { ...window, cost: () => undefined }
  return {
    ...window,
    prices,
    cost: (tokens) => lookUp(base_url, CATALOG_IDS[provider] ?? provider, id, tokens)?.total_price,
  }
}

const NOTHING: CountedTokens = { input_tokens: 0, output_tokens: 0 }

function lookUp(
  base_url: string,
  provider_id: string,
  id: string,
  tokens: CountedTokens,
): PriceCalculation | null {
  const known = findProvider({ providerApiUrl: base_url })
  if (known?.id !== provider_id) return null
  const { input_tokens, output_tokens, cached_input_tokens = 0, cache_write_tokens = 0 } = tokens
  // What is told to come from the cache cannot be more than what was sent.
  const cache_read_tokens = Math.min(cached_input_tokens, input_tokens)
  const written = Math.min(cache_write_tokens, input_tokens - cache_read_tokens)
  const found = calcPrice(
    { input_tokens, output_tokens, cache_read_tokens, cache_write_tokens: written },
    id,
    { providerId: provider_id },
  )
  return found && isOf(id, found.model.id) ? found : null
}

/** The catalogue also knows models by how their names begin: `sonnet-5-5` is no dated `sonnet-5`, and costs what it costs. */
function isOf(id: string, known: string): boolean {
  if (!id.startsWith(known)) return true
  return /^([-@:](\d{6,8}|\d{4}-\d{2}-\d{2}|latest|preview|free|exp)\b.*)?$/.test(id.slice(known.length))
}

function publicPrices({ model_price }: PriceCalculation): ModelPrices | undefined {
  const read = (name: string): number | undefined => {
    const price = model_price[name]
    return typeof price === 'object' ? price.base : price
  }
  const [input, output, cached] = ['input_mtok', 'output_mtok', 'cache_read_mtok'].map(read)
  if (input === undefined || output === undefined) return undefined
  return { input, output, ...(cached === undefined ? {} : { cached_input: cached }) }
}

function priceAt({ input, output, cached_input = input }: ModelPrices, tokens: CountedTokens): number {
  const cached = Math.min(tokens.cached_input_tokens ?? 0, tokens.input_tokens)
  const fresh = tokens.input_tokens - cached
  return (fresh * input + cached * cached_input + tokens.output_tokens * output) / MILLION
}
