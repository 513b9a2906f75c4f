import { type LanguageModelMiddleware, wrapLanguageModel } from 'ai'

type Model = Parameters<typeof wrapLanguageModel>[0]['model']
type Wrapped = ReturnType<typeof wrapLanguageModel>

/** A model before whose calls something has to go well: what that throws is what the call fails with. */
export const askFirst = (model: Model, first: () => Promise<unknown>): Wrapped =>
  wrapLanguageModel({
    model,
    middleware: {
      specificationVersion: 'v4',
      async wrapStream({ doStream }) {
        await first()
        return doStream()
      },
    },
  })

/** https://docs.aws.amazon.com/bedrock/latest/userguide/prompt-caching.html: others refuse the mark. */
const HAS_CACHE = /anthropic\.claude-((opus|sonnet|haiku)-|3-7-sonnet|3-5-haiku)|amazon\.nova-/
const CACHE_POINT = { bedrock: { cachePoint: { type: 'default' } } }

/** Each step sends the whole conversation again; without the cache it would be paid for in full each time. */
export const markCache = (model: Model, id: string): Model =>
  HAS_CACHE.test(id) ? wrapLanguageModel({ model, middleware: MARK_CACHE }) : model

const MARK_CACHE: LanguageModelMiddleware = {
  specificationVersion: 'v4',
  transformParams: async ({ params }) => {
    const last = params.prompt.length - 1
    const prompt = params.prompt.map((message, at) =>
      message.role === 'system' || at === last
        ? { ...message, providerOptions: { ...message.providerOptions, ...CACHE_POINT } }
        : message,
    )
    return { ...params, prompt }
  },
}
