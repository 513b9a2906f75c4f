import type { KnownModel, Model } from '../contract/model.ts'

/** Families of models, by the beginning of a word in their ids: what gateways and clouds call them still has it. */
const MAKERS: ReadonlyArray<[Model['provider'], RegExp]> = [
  ['ANTHROPIC', /\b(claude|anthropic)\b/],
  ['GOOGLE', /\b(gemini|gemma|google)\b/],
  ['OPENAI', /\b(gpt|chatgpt|codex|openai|o[134])\b/],
]

/** Families that take images in every version that is still served. */
const SEEING =
  /\bclaude-(3|4|5|opus|sonnet|haiku)|\bgemini-|\bgpt-(4o|4\.1|4-turbo|5)|\b(o1|o3|o4-mini)\b(?!-mini)|\b(pixtral|llava|llama-4|gemma-?3)|vl\b|\bvision\b/

/** A model in the shape of the published client. */
export function viewModel({
  model_id,
  display_name,
  sees_images,
  context_window,
  prices,
}: KnownModel): Model {
  const [, name = model_id] = /^[^/]+\/(.+)$/.exec(model_id) ?? []
  const [made] = MAKERS.find(([, words]) => words.test(name.toLowerCase())) ?? []
  const [served] = MAKERS.find(([, words]) => words.test(model_id.toLowerCase())) ?? []
  return {
    id: model_id,
    display_name: display_name ?? name,
    provider: made ?? served ?? 'UNKNOWN',
    vision_supported: sees_images ?? SEEING.test(name.toLowerCase()),
    ...(context_window === undefined ? {} : { context_window }),
    ...(prices === undefined ? {} : { prices }),
  }
}
