import { randomInt } from 'node:crypto'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Unguessable text of A-Z, a-z, 0-9: 5.95 bits a character. */
export const randomText = (length: number): string =>
  Array.from({ length }, () => BASE62[randomInt(62)]).join('')

export function toBase62(value: number, length: number): string {
  let text = ''
  for (let rest = value; text.length < length; rest = Math.floor(rest / 62)) text = BASE62[rest % 62] + text
  return text
}
