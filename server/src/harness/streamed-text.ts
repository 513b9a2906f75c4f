import { storableText } from '../contract/storable-text.ts'

/**
 * Text on its way to who watches: a pair of surrogates that a chunk's end cuts is held back until it is whole, white space until
 * something follows it.
 */
export class StreamedText {
  #held = ''

  /** What can be shown now; it may be nothing. */
  add(chunk: string): string {
    if (chunk.trim() === '') {
      this.#held += chunk
      return ''
    }
    const text = this.#held + chunk
    this.#held = /[\ud800-\udbff]$/.test(text.slice(-1)) ? text.slice(-1) : ''
    return storableText(text.slice(0, text.length - this.#held.length))
  }
}
