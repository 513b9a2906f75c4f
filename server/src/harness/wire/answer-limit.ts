/** `max_tokens: 32000 > 8192`, `supports at most 16384 completion tokens`, `must be less than or equal to 8192`. */
const LIMIT =
  /max_(?:completion_)?tokens.{0,200}?(?:at most|>|maximum (?:value )?(?:of|is|for .{0,80} is)|less than or equal to|<=|between \d+ and|\[1, ?)\s*`?(\d+)/is
const FIELDS = ['max_tokens', 'max_completion_tokens'] as const

/** How many tokens one answer of a model may have, as its server says when it is asked for more. */
export class AnswerLimit {
  #most = Number.POSITIVE_INFINITY

  /** Whether this is what was said. */
  isMeant(said: string): boolean {
    return LIMIT.test(said)
  }

  apply(request: Record<string, unknown>): Record<string, unknown> {
    const lowered = FIELDS.flatMap((name) => {
      const asked = request[name]
      return typeof asked === 'number' ? [[name, Math.min(asked, this.#most)] as const] : []
    })
    return { ...request, ...Object.fromEntries(lowered) }
  }

  /** Whether there is something new in what it said of this request. */
  learn(request: Record<string, unknown>, said: string): boolean {
    const asked = Number(request.max_completion_tokens ?? request.max_tokens)
    const limit = Number(LIMIT.exec(said)?.[1])
    const is_new = limit > 0 && asked > limit && limit < this.#most
    if (is_new) this.#most = limit
    return is_new
  }
}
