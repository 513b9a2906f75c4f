import { hash } from 'node:crypto'

const MAX_NAME = 64
const ID = /^[A-Za-z0-9]{9}$/
const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

/**
 * The name of a tool as every provider accepts it: letters, digits, `_` and `-`, at most 64, not beginning with a digit. The log
 * has what the model wrote, which may be no name at all; sent back so, it would have the conversation refused from then on.
 */
export function nameForProvider(name: string): string {
  const clean = name.slice(0, MAX_NAME).replaceAll(/[^A-Za-z0-9_-]/g, '_')
  return /^[A-Za-z_]/.test(clean) ? clean : `_${clean}`.slice(0, MAX_NAME)
}

/**
 * Ids of the calls of one conversation, as every provider accepts them. Mistral wants nine letters and digits, others take
 * those as well, and a conversation may go on elsewhere: so all are made of their log's id alone.
 */
export class CallIds {
  readonly #ids = new Map<string, string>()
  readonly #taken = new Set<string>()

  of(logged: string): string {
    const known = this.#ids.get(logged)
    if (known !== undefined) return known
    let id = ID.test(logged) ? logged : digest(logged)
    for (let n = 2; this.#taken.has(id); n += 1) id = digest(`${logged} ${n}`)
    this.#taken.add(id)
    this.#ids.set(logged, id)
    return id
  }
}

const digest = (text: string): string =>
  Array.from(hash('sha256', text, 'buffer').subarray(0, 9), (byte) => DIGITS[byte % DIGITS.length]).join('')
