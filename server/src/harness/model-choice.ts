import type { AmbientAgentConfig } from '../contract/agent-config.ts'
import type { ErrorCode } from '../contract/error.ts'
import type { EventData, NewEvent } from '../contract/event.ts'
import type { Outcome } from './harness.ts'

type Reason = EventData<'model.switched'>['reason']

/**
 * What a run ends with that another model may do better. Not the content of the conversation, nor what the model has answered: that
 * is no failure of a provider.
 */
const REASONS: Partial<Record<ErrorCode, Reason>> = {
  resource_unavailable: 'unavailable',
  insufficient_credits: 'quota',
  external_authentication_required: 'key_refused',
  integration_not_configured: 'unknown_model',
  invalid_request: 'refused',
  not_authorized: 'refused',
}

/** The model that the request itself names. */
export const modelOf = (config: AmbientAgentConfig): string | undefined =>
  config.harness?.model_id ?? config.model_id

/**
 * Which model goes on with a run, made of its log alone: what the request names, until a message asks for another one, or one has
 * failed and a fallback took its place.
 */
export class ModelChoice {
  readonly #fallbacks: readonly string[]
  #asked: string | undefined
  /** Those that have failed since somebody last wrote. */
  #tried = new Set<string>()
  /** The one that was at work last. */
  #used: string | undefined
  /** A message has asked for another one, which is not in the log yet. */
  #is_new = false

  constructor(config: AmbientAgentConfig, installed: readonly string[] = []) {
    this.#asked = modelOf(config)
    this.#fallbacks = config.fallback_model_ids ?? installed
  }

  /** As `Models.resolve` takes it; `undefined`: the default. */
  get asked(): string | undefined {
    return this.#asked
  }

  add(event: NewEvent): void {
    if (event.type === 'message.user') {
      this.#tried.clear()
      const { model_id } = event.data
      if (model_id === undefined || model_id === this.#asked) return
      this.#asked = model_id
      this.#is_new = true
    } else if (event.type === 'model.switched') {
      const { from, to, reason } = event.data
      // Under the name that it was asked by as well: lists may leave the provider out.
      if (reason !== 'followup') this.#tried.add(from).add(this.#asked ?? from)
      this.#asked = to
      this.#used = to
      this.#is_new = false
    } else if (event.type === 'usage' && !event.data.by_gateway) this.#used = event.data.model_id
  }

  /** What is to be told before the first request to this model, by its whole id. */
  announce(model_id: string): NewEvent | null {
    const from = this.#used
    const is_told = this.#is_new && from !== undefined && from !== model_id
    this.#is_new = false
    return is_told ? { type: 'model.switched', data: { from, to: model_id, reason: 'followup' } } : null
  }

  /** The fallback that takes the place of what has failed so; `null`: there is none, or none would help. */
  fallBack({ status_message }: Outcome, failed = this.#asked): NewEvent | null {
    const reason = status_message?.error_code && REASONS[status_message.error_code]
    if (!reason) return null
    const gone = new Set([...this.#tried, failed, this.#asked])
    const to = this.#fallbacks.find((model_id) => !gone.has(model_id))
    if (to === undefined) return null
    const from = failed ?? 'the default model'
    return { type: 'model.switched', data: { from, to, reason, message: status_message.message } }
  }
}
