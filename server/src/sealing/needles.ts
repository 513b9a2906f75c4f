import { randomInt } from 'node:crypto'
import { EdgeSet } from './edge-set.ts'
import { HashSet } from './hash-set.ts'

/** Shorter texts are settings such as `1` and `test`: masking those would make a log unreadable and hide nothing. */
export const MIN_NEEDLE = 8
/** Longer texts are looked for in parts of this length, so that no text costs more than others. */
const PART = 128
/** No part is longer. */
export const MAX_NEEDLE = PART + MIN_NEEDLE - 1

/** Of the map of beginnings and ends, for each character of a value: all its forms together are some twenty times as long. */
const BITS = 32

/** Seeds of the hashes differ by process, so nobody can choose texts that collide. */
const FORWARD = randomInt(2 ** 31)
const CHECK = randomInt(2 ** 31)
const BACKWARD = randomInt(2 ** 31)
const FORWARD_FACTOR = 0x9e3779b1
const CHECK_FACTOR = 0x85ebca6b

/**
 * Texts to look for at one place of another. Of a text only hashes stay, a few bytes for each part of 128 characters: the
 * forms of a long secret are far longer than the secret. Two texts with the same hash would mask too much, never too little.
 */
export class Needles {
  readonly #whole = new HashSet()
  /** Beginnings and ends, at the lengths that `edgeOf` gives. */
  readonly #edges: EdgeSet
  readonly #has_length = new Uint8Array(MAX_NEEDLE + 1)
  #longest = 0

  /** `expected`: how many characters the values have of which the texts are forms. */
  constructor(expected: number) {
    this.#edges = new EdgeSet(BITS * expected)
  }

  get isEmpty(): boolean {
    return this.#longest === 0
  }

  /** Texts shorter than `MIN_NEEDLE` are left out. */
  add(text: string): void {
    for (let at = 0; at < text.length; ) {
      const left = text.length - at
      const length = left <= MAX_NEEDLE ? left : PART
      if (length >= MIN_NEEDLE) this.#addPart(text, at, length)
      at += length
    }
  }

  /** Whether the first characters of one may stand here. It is asked at every place, so it must cost next to nothing. */
  beginsAt(text: string, at: number): boolean {
    let hash = FORWARD
    for (let place = at; place < at + 4; place += 1) hash = step(hash, text.charCodeAt(place), FORWARD_FACTOR)
    if (!this.#edges.has(hash)) return false
    for (let place = at + 4; place < at + MIN_NEEDLE; place += 1)
      hash = step(hash, text.charCodeAt(place), FORWARD_FACTOR)
    return this.#edges.has(hash)
  }

  /** The length of the longest that stands here; 0: none. */
  longestAt(text: string, at: number): number {
    const most = Math.min(this.#longest, text.length - at)
    let hash = FORWARD
    let check = CHECK
    let found = 0
    for (let length = 1; length <= most; length += 1) {
      const char = text.charCodeAt(at + length - 1)
      hash = step(hash, char, FORWARD_FACTOR)
      check = step(check, char, CHECK_FACTOR)
      if (length < MIN_NEEDLE) continue
      if (edgeOf(length) === length && !this.#edges.has(hash)) break
      if (this.#has_length[length] === 1 && this.#whole.has(hash, check)) found = length
    }
    return found
  }

  /** Whether the rest of the text may be the beginning of a longer one. True too often costs a short delay, no more. */
  mayGoOn(text: string, at: number): boolean {
    const rest = text.length - at
    if (rest <= 0 || rest >= this.#longest) return false
    let hash = FORWARD
    for (let length = 1; length <= rest; length += 1) {
      hash = step(hash, text.charCodeAt(at + length - 1), FORWARD_FACTOR)
      if (edgeOf(length) === length && !this.#edges.has(hash)) return false
    }
    return true
  }

  /**
   * Whether the text up to here may be the end of one, or all of it. The last half of the text may decide, so some characters
   * before a value's end can count as a part of it.
   */
  mayEnd(text: string, end: number): boolean {
    if (end > this.#longest) return false
    const decisive = edgeOf(end)
    let hash = BACKWARD
    for (let length = 1; length <= decisive; length += 1) {
      hash = step(hash, text.charCodeAt(end - length), FORWARD_FACTOR)
      if (edgeOf(length) === length && !this.#edges.has(hash)) return false
    }
    return true
  }

  #addPart(text: string, at: number, length: number): void {
    let hash = FORWARD
    let check = CHECK
    let back = BACKWARD
    for (let done = 1; done <= length; done += 1) {
      const char = text.charCodeAt(at + done - 1)
      hash = step(hash, char, FORWARD_FACTOR)
      check = step(check, char, CHECK_FACTOR)
      back = step(back, text.charCodeAt(at + length - done), FORWARD_FACTOR)
      if (edgeOf(done) !== done) continue
      this.#edges.add(hash)
      this.#edges.add(back)
    }
    this.#whole.add(hash, check)
    this.#has_length[length] = 1
    this.#longest = Math.max(this.#longest, length)
  }
}

/** The greatest length up to this one at which beginnings and ends are known: each up to 8, then each power of two. */
const edgeOf = (length: number): number => (length <= MIN_NEEDLE ? length : 1 << (31 - Math.clz32(length)))

/** Behind the end of a text stands NaN, which counts as 0. */
const step = (hash: number, char: number, factor: number): number => {
  const mixed = Math.imul(hash ^ char, factor)
  return mixed ^ (mixed >>> 15)
}
