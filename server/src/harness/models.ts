import type { LanguageModel } from 'ai'
import { type KnownModel, MODEL_APIS } from '../contract/model.ts'
import type { AnswerNotes } from './answer-notes.ts'
import { type CloudSettings, openClouds } from './cloud-providers.ts'
import { chooseDefault, keepChatModels } from './default-models.ts'
import { fetchModels, type ListingRequest, type NoListing } from './model-listing.ts'
import { type ModelFigures, type PriceList, readFigures } from './model-prices.ts'
import { MODEL_VARIABLES } from './model-variables.ts'
import { isNamed, type NamedProviderName, type NamedSettings, openNamed } from './named-providers.ts'
import { createPatientFetch } from './patient-fetch.ts'
import {
  type EndpointSettings,
  openAnthropic,
  openEndpoint,
  openGoogle,
  openOpenAI,
  type Provider,
  type ProviderOptions,
  type ProviderSettings,
} from './providers.ts'
import { createTolerantFetch } from './wire/tolerant-fetch.ts'

export interface ModelSettings extends CloudSettings {
  anthropic?: ProviderSettings
  /** A `base_url` that is not OpenAI's makes this any server with the OpenAI chat API; a key is then optional. */
  openai?: ProviderSettings
  google?: ProviderSettings
  /** Providers that a key alone sets up, each spoken to by its own package. */
  named?: Partial<Record<NamedProviderName, NamedSettings>>
  /** Further servers with OpenAI's chat API, by the names that go before their models. */
  endpoints?: Record<string, EndpointSettings>
  /** What a run without `model_id` uses. */
  default_model?: string
  /** Models that go on in place of one that fails, in order, where the run does not say. */
  fallback_models?: readonly string[]
  /** In place of the public prices. */
  prices?: PriceList
  /** Tokens that models take in, in place of what is known; `*`: those of which nothing is. */
  context_windows?: Readonly<Record<string, number>>
  /** Tokens that one answer of a model may have, at most; `*`: of all others. Absent: what the provider says of itself. */
  output_limits?: Readonly<Record<string, number>>
  /** How long a provider may send nothing at all before its answer counts as broken; default 90,000. */
  silence_ms?: number
  /** The same where signs of life come, and nothing of the answer; default 600,000. */
  idle_ms?: number
}

export interface ResolvedModel extends ModelFigures {
  /** `provider/model`. */
  model_id: string
  /** For one request after the other; `notes`: what the answer to the next one is like. */
  openModel(notes: AnswerNotes): Promise<LanguageModel>
  /** Passed with every call to this model. */
  provider_options: ProviderOptions
  /** Tokens that an answer may have, at most; absent: as the provider has it. */
  max_output_tokens?: number
  /** How long nothing of an answer may come. */
  idle_ms: number
}

/** Why there is no model. `away`: because no provider answered, which may change. `refused_by`: one that refused the key. */
export interface NoModel {
  reason: string
  away?: true
  refused_by?: string
}

export interface Models {
  /** Whether any provider has been set up. */
  readonly configured: boolean
  /** Of runs that name none. */
  readonly fallbacks?: readonly string[]
  /** What can hold a conversation. Cached for minutes. A provider that is away contributes nothing; never throws. */
  list(): Promise<KnownModel[]>
  /** Asks every provider anew; `failure` as `fetchModels` gives it. Never throws. */
  check(): Promise<ProviderCheck[]>
  /**
   * Finds the model of a run: `provider/model`, or a bare id when only one provider is set up or a listing has it. Without
   * an id: the one that was configured, else the default of the first provider. The reason of a refusal is for the
   * caller to read.
   */
  resolve(model_id?: string): Promise<ResolvedModel | NoModel>
}

export interface ProviderCheck extends Partial<NoListing> {
  provider: string
  base_url: string
  models: KnownModel[]
}

export const IS_ADDRESS_RIGHT = 'Is the address right? Mostly it ends in /v1.'

const FRESH_MS = 5 * 60_000
const RETRY_AWAY_MS = 15_000
const SILENCE_MS = 90_000
/** Models that think for long send nothing meanwhile but signs of life. */
const IDLE_MS = 10 * 60_000

// The SDK would print hints for developers to the console; a service has its own log.
globalThis.AI_SDK_LOG_WARNINGS = false

/** `now` is the clock of the cache, in milliseconds. */
export function openModels(settings: ModelSettings, now: () => number = Date.now): Models {
  const providers = openProviders(settings)
  const listings = new Map(
    [...providers].map(([name, { listing }]) => [name, cacheListing(listing, settings, now)]),
  )
  const list = async () => (await Promise.all([...listings.values()].map(({ read }) => read()))).flat()

  const use = (name: string, id: string): ResolvedModel | null => {
    const provider = providers.get(name)
    if (!provider || id === '') return null
    const { listing } = provider
    const provider_options = provider.provider_options(id)
    const model_id = `${name}/${id}`
    // Nobody waits for a listing to learn how much a model takes in.
    const told = listings
      .get(name)
      ?.known()
      .find((model) => model.model_id === model_id)
    const figures = readFigures({ provider: name, base_url: listing.base_url, id }, settings.prices)
    const { context_windows: own = {}, idle_ms = IDLE_MS, silence_ms = SILENCE_MS } = settings
    const context_window = own[model_id] ?? told?.context_window ?? figures.context_window ?? own['*']
    const window = context_window === undefined ? {} : { context_window }
    const limit = limitOutput(model_id, settings.output_limits)
    let notes: AnswerNotes | undefined
    let opened: Promise<LanguageModel> | undefined
    return {
      ...{ model_id, provider_options, idle_ms, ...figures, ...window },
      ...(limit !== undefined && { max_output_tokens: limit }),
      openModel(of_next) {
        notes = of_next
        // Once: the SDK makes the schemas of its answers anew with each model.
        const patient = createPatientFetch({
          ...{ silence_ms, stream: () => notes },
          ...(provider.is_binary && { is_binary: true, max_line_bytes: Number.POSITIVE_INFINITY }),
        })
        opened ??= provider.openModel(
          id,
          createTolerantFetch(patient, () => notes),
        )
        // Credentials of a machine may be there the next time.
        opened.catch(() => {
          opened = undefined
        })
        return opened
      },
    }
  }

  async function resolveDefault(): Promise<ResolvedModel | NoModel> {
    for (const [name, { read }] of listings) {
      const id = chooseDefault(name, {
        listed: await read(),
        is_public: providers.get(name)?.is_public ?? false,
      })
      const model = id === null ? null : use(name, id)
      if (model) return model
    }
    const urls = [...providers.values()].map(({ listing }) => listing.base_url).join(', ')
    const failures = [...listings].map(([name, { failure }]) => ({ name, failure: failure() }))
    if (failures.every(({ failure }) => failure?.is_missing)) {
      const choose = 'A server that lists no models needs RUNYARD_DEFAULT_MODEL.'
      return {
        reason: `No model was chosen, and no list of them is at ${urls}. ${IS_ADDRESS_RIGHT} ${choose}`,
      }
    }
    const refused = failures.find(({ failure }) => failure?.is_refused)
    if (refused && failures.every(({ failure }) => failure?.is_missing || failure?.is_refused))
      return { refused_by: refused.name, reason: `The provider ${refused.name} refused the service's key.` }
    const why = failures.flatMap(({ name, failure }) => (failure ? [`${name} ${failure.failure}`] : []))
    const told = why.length > 0 ? ` (${why.join('; ')})` : ''
    return { away: true, reason: `No model was chosen, and no provider lists any now: ${urls}${told}.` }
  }

  async function resolve(model_id = settings.default_model): Promise<ResolvedModel | NoModel> {
    if (providers.size === 0)
      return { reason: `No model provider is configured. Set ${MODEL_VARIABLES} for the service.` }
    if (model_id === undefined) return resolveDefault()
    const [name = '', ...rest] = model_id.split('/')
    const named = use(name, rest.join('/'))
    if (named) return named
    const models = await list()
    // The id of an aggregating endpoint may itself hold a slash, so the whole is looked up.
    const listed = models.find((model) => model.model_id === `${model.provider}/${model_id}`)
    const [single] = providers.size === 1 && !isForeign(model_id) ? providers.keys() : []
    const owner = listed?.provider ?? single
    const found = owner === undefined ? null : use(owner, model_id)
    return found ?? { reason: `The model "${model_id}" is not available here. ${available(models)}` }
  }

  return {
    configured: providers.size > 0,
    ...(settings.fallback_models ? { fallbacks: settings.fallback_models } : {}),
    list,
    resolve,
    check: () =>
      Promise.all(
        [...providers.values()].map(async ({ listing }) => ({
          ...{ provider: listing.provider, base_url: listing.base_url, models: [] },
          ...(await fetchModels(listing)),
        })),
      ),
  }
}

/** Anthropic's API has to be told a limit, and its client says 4,096 of models that it does not know: too little for a file. */
const UNKNOWN_OUTPUT = 32_000

function limitOutput(model_id: string, limits: Readonly<Record<string, number>> = {}): number | undefined {
  const is_unknown = model_id.startsWith('anthropic/') && !model_id.startsWith('anthropic/claude-')
  return limits[model_id] ?? limits['*'] ?? (is_unknown ? UNKNOWN_OUTPUT : undefined)
}

/** In the order in which a default is looked for. */
function openProviders(settings: ModelSettings): Map<string, Provider> {
  const { anthropic = {}, openai = {}, google = {}, named = {}, endpoints = {} } = settings
  const opened = [
    openAnthropic(anthropic),
    openOpenAI(openai),
    openGoogle(google),
    ...Object.entries(named).flatMap(([name, one]) => (isNamed(name) && one ? [openNamed(name, one)] : [])),
    ...openClouds(settings),
    ...Object.entries(endpoints).map(([name, endpoint]) => openEndpoint(name, endpoint)),
  ]
  return new Map(opened.flatMap((provider) => (provider ? [[provider.listing.provider, provider]] : [])))
}

// `anthropic/…` where Anthropic is not set up is a mistake, not a bare id that happens to hold a slash.
const isForeign = (model_id: string) => MODEL_APIS.some((api) => model_id.startsWith(`${api}/`))

/** One sentence about what could be used instead. */
export function available(models: readonly KnownModel[]): string {
  if (models.length === 0) return 'No configured provider lists any model now.'
  const some = models.slice(0, 10).map((model) => model.model_id)
  const more = models.length > some.length ? ` and ${models.length - some.length} more` : ''
  return `Available: ${some.join(', ')}${more}.`
}

interface Listing {
  /** Asks the provider where what is known is too old. */
  read(): Promise<KnownModel[]>
  /** What it said last. */
  known(): KnownModel[]
  /** Why there was none at that time. */
  failure(): NoListing | null
}

function cacheListing(request: ListingRequest, settings: ModelSettings, now: () => number): Listing {
  let known: KnownModel[] = []
  let failure: NoListing | null = null
  let expires = Number.NEGATIVE_INFINITY
  let pending: Promise<KnownModel[]> | undefined
  const refresh = async () => {
    const fetched = await fetchModels(request)
    known =
      'models' in fetched
        ? keepChatModels(fetched.models).map((model) => addFigures(model, request.base_url, settings))
        : []
    failure = 'failure' in fetched ? fetched : null
    expires = now() + ('models' in fetched ? FRESH_MS : RETRY_AWAY_MS)
    pending = undefined
    return known
  }
  const read = async () => {
    if (now() < expires) return known
    pending ??= refresh()
    return pending
  }
  return { read, known: () => known, failure: () => failure }
}

function addFigures(model: KnownModel, base_url: string, own: ModelSettings): KnownModel {
  const id = model.model_id.slice(model.provider.length + 1)
  const { context_window, prices } = readFigures({ provider: model.provider, base_url, id }, own.prices)
  const set = own.context_windows?.[model.model_id]
  return {
    ...(context_window ? { context_window } : {}),
    ...(prices ? { prices } : {}),
    ...model,
    ...(set === undefined ? {} : { context_window: set }),
  }
}
