/** How models write in their text that they are thinking, where their server does not take it out. */
const TAGS: ReadonlyArray<readonly [string, string]> = [
  ['<think>', '</think>'],
  ['<thinking>', '</thinking>'],
  ['<thought>', '</thought>'],
  ['<reasoning>', '</reasoning>'],
  ['[THINK]', '[/THINK]'],
  ['◁think▷', '◁/think▷'],
  ['<|channel|>analysis<|message|>', '<|end|><|start|>assistant<|channel|>final<|message|>'],
]
/** Blank characters before the first word. */
const MAX_BLANK = 1_000
const LONGEST_OPENING = Math.max(...TAGS.map(([opening]) => opening.length))

export interface SplitText {
  reasoning: string
  text: string
}

/**
 * Splits the text of one answer, as it comes, into what the model thought and what it said. Thoughts stand at the beginning:
 * the same words later on are what the answer is about.
 */
export class ThinkTags {
  #state: 'beginning' | 'thinking' | 'blank' | 'text' = 'beginning'
  #held = ''
  #closing = ''

  add(chunk: string): SplitText {
    this.#held += chunk
    if (this.#state === 'beginning') this.#begin()
    const reasoning = this.#state === 'thinking' ? this.#think() : ''
    if (this.#state === 'blank') this.#skipBlank()
    return { reasoning, text: this.#state === 'text' ? this.#takeAll() : '' }
  }

  /** The text that was held back. */
  end(): SplitText {
    const rest = this.#takeAll()
    return this.#state === 'thinking' ? { reasoning: rest, text: '' } : { reasoning: '', text: rest }
  }

  #begin(): void {
    const begins = this.#held.trimStart()
    const tag = TAGS.find(([opening]) => begins.startsWith(opening))
    // The next character decides: an answer may begin with a word about such tags.
    if (tag && begins.length === tag[0].length) return
    if (tag && !/^ [a-z]/.test(begins.slice(tag[0].length))) {
      this.#held = begins.slice(tag[0].length)
      this.#closing = tag[1]
      this.#state = 'thinking'
      return
    }
    if (begins === '' && this.#held.length > MAX_BLANK) this.#state = 'text'
    const may_come = begins.length < LONGEST_OPENING && TAGS.some(([opening]) => opening.startsWith(begins))
    if (!may_come) this.#state = 'text'
  }

  #think(): string {
    const at = this.#held.indexOf(this.#closing)
    if (at < 0) return this.#take(this.#held.length - endLike(this.#held, this.#closing))
    const reasoning = this.#take(at)
    this.#take(this.#closing.length)
    this.#state = 'blank'
    return reasoning
  }

  /** Between thoughts and text. */
  #skipBlank(): void {
    this.#held = this.#held.trimStart()
    if (this.#held !== '') this.#state = 'text'
  }

  #take(characters: number): string {
    const taken = this.#held.slice(0, characters)
    this.#held = this.#held.slice(characters)
    return taken
  }

  #takeAll(): string {
    return this.#take(this.#held.length)
  }
}

/** How many characters at the end of a text may be the beginning of a tag. */
function endLike(text: string, tag: string): number {
  for (let length = Math.min(tag.length - 1, text.length); length > 0; length -= 1)
    if (text.endsWith(tag.slice(0, length))) return length
  return 0
}
