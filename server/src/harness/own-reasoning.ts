import { type LanguageModel, type LanguageModelMiddleware, wrapLanguageModel } from 'ai'

type Model = Parameters<typeof wrapLanguageModel>[0]['model']
type Prompt = Parameters<NonNullable<LanguageModelMiddleware['transformParams']>>[0]['params']['prompt']
type Message = Prompt[number]

/** Among what a log keeps of a part: nobody but the packages below reads other names there. */
const MARK = 'runyard'

/**
 * A model that is given back what it thought itself, and nothing that another one did: a conversation may come from another
 * provider, whose reasoning few take. `takes`: whether it takes its own.
 */
export const keepOwnReasoning = (
  model: Model,
  model_id: string,
  takes: boolean,
): Exclude<LanguageModel, string> =>
  wrapLanguageModel({
    model,
    middleware: {
      specificationVersion: 'v4',
      transformParams: async ({ params }) => ({
        ...params,
        prompt: params.prompt.map((message) => withoutOthers(message, model_id, takes)),
      }),
      wrapStream: async ({ doStream }) => {
        const { stream, ...rest } = await doStream()
        return { ...rest, stream: stream.pipeThrough(markReasoning(model_id)) }
      },
    },
  })

function withoutOthers(message: Message, model_id: string, takes: boolean): Message {
  if (message.role !== 'assistant') return message
  const content = message.content.filter(
    (part) => part.type !== 'reasoning' || (takes && part.providerOptions?.[MARK]?.model_id === model_id),
  )
  return { ...message, content }
}

type Part =
  Awaited<
    ReturnType<Extract<Model, { specificationVersion: 'v4' }>['doStream']>
  >['stream'] extends ReadableStream<infer P>
    ? P
    : never

/** The last metadata of a block is what is kept of it. */
const markReasoning = (model_id: string): TransformStream<Part, Part> =>
  new TransformStream({
    transform(part, controller) {
      const is_marked =
        part.type === 'reasoning-start' ||
        ((part.type === 'reasoning-delta' || part.type === 'reasoning-end') && part.providerMetadata)
      controller.enqueue(
        is_marked ? { ...part, providerMetadata: { ...part.providerMetadata, [MARK]: { model_id } } } : part,
      )
    },
  })
