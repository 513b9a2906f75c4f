import { calcPrice, findProvider, type PriceCalculation } from '@pydantic/genai-prices'
import type { EventData } from '../contract/event.ts'
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
  /** What the cost is made of; absent with it. */
  parts(tokens: CountedTokens): CostParts | undefined
}

export type CostParts = NonNullable<EventData<'usage'>['inference_cost_parts_usd']>

/** The cost of a request as its `usage` has it. */
export function priceOf(figures: Pick<ModelFigures, 'cost' | 'parts'>, tokens: CountedTokens) {
  const [cost, parts] = [figures.cost(tokens), figures.parts(tokens)]
  return {
    ...(cost === undefined ? {} : { inference_cost_usd: cost }),
    ...(parts === undefined ? {} : { inference_cost_parts_usd: parts }),
  }
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
  if (listed) {
    const parts = (tokens: CountedTokens) => partsAt(listed, tokens)
    return { ...window, prices: listed, cost: (tokens) => sumOf(parts(tokens)), parts }
  }
  const prices = public_price && publicPrices(public_price)
  if (!prices) return { ...window, cost: () => undefined, parts: () => undefined }
  const priceOfAll = (tokens: CountedTokens) =>
    lookUp(base_url, CATALOG_IDS[provider] ?? provider, id, tokens)
  return {
    ...window,
    prices,
    cost: (tokens) => priceOfAll(tokens)?.total_price,
    parts: (tokens) => splitPrice(priceOfAll, tokens),
  }
}

/** Prices that rise with the request make the parts of the cache cost about this: the rest of its price is that of the other input. */
function splitPrice(
  priceOfAll: (tokens: CountedTokens) => PriceCalculation | null,
  tokens: CountedTokens,
): CostParts | undefined {
  const all = priceOfAll(tokens)
  if (!all) return undefined
  const { read, written } = split(tokens)
  const priceOfCache = (cached: Partial<CountedTokens>, input_tokens: number): number =>
    input_tokens === 0 ? 0 : (priceOfAll({ input_tokens, output_tokens: 0, ...cached })?.input_price ?? 0)
  const cache_read = Math.min(priceOfCache({ cached_input_tokens: read }, read), all.input_price)
  const cache_write = Math.min(
    priceOfCache({ cache_write_tokens: written }, written),
    all.input_price - cache_read,
  )
  const input = all.input_price - cache_read - cache_write
  return { input, output: all.output_price, cache_read, cache_write }
}

/** What is told to come from the cache, or to go there, cannot be more than what was sent. */
function split({ input_tokens, cached_input_tokens = 0, cache_write_tokens = 0 }: CountedTokens) {
  const read = Math.min(cached_input_tokens, input_tokens)
  const written = Math.min(cache_write_tokens, input_tokens - read)
  return { read, written, fresh: input_tokens - read - written }
}

const sumOf = ({ input, output, cache_read, cache_write }: CostParts): number =>
  input + cache_read + cache_write + output

const NOTHING: CountedTokens = { input_tokens: 0, output_tokens: 0 }

function lookUp(
  base_url: string,
  provider_id: string,
  id: string,
  tokens: CountedTokens,
): PriceCalculation | null {
  const known = findProvider({ providerApiUrl: base_url })
  if (known?.id !== provider_id) return null
  const { input_tokens, output_tokens } = tokens
  const { read, written } = split(tokens)
  const found = calcPrice(
    { input_tokens, output_tokens, cache_read_tokens: read, cache_write_tokens: written },
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
  const names = ['input_mtok', 'output_mtok', 'cache_read_mtok', 'cache_write_mtok']
  const [input, output, cached_input, cache_write] = names.map(read)
  if (input === undefined || output === undefined) return undefined
  return {
    ...{ input, output },
    ...(cached_input === undefined ? {} : { cached_input }),
    ...(cache_write === undefined ? {} : { cache_write }),
  }
}

function partsAt(
  { input, output, cached_input = input, cache_write = input }: ModelPrices,
  tokens: CountedTokens,
): CostParts {
  const { read, written, fresh } = split(tokens)
  const price = (count: number, each: number): number => (count * each) / MILLION
  return {
    input: price(fresh, input),
    output: price(tokens.output_tokens, output),
    cache_read: price(read, cached_input),
    cache_write: price(written, cache_write),
  }
}
