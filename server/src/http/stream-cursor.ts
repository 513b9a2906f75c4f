/** Where a reader is in each of many logs, by run: what follows these sequences is new to it. */
export type Places = Map<string, number>

const VERSION = 1
const TAIL_BYTES = 8

/**
 * What stands for a run in a cursor: the second half of its id, as SQL has it with `right(run_id::text, 17)`. It is the
 * random one, so within the runs of one stream it names one of them.
 */
export const tailOf = (run_id: string): string => run_id.slice(-17)

/** Of each run eight bytes of its id and the sequence, seven bits a byte; base64url. 200 runs take about 2,700 characters. */
export function encodePlaces(places: Places): string {
  const bytes = [VERSION]
  for (const [tail, sequence] of places) {
    if (sequence === 0) continue
    bytes.push(...Buffer.from(tail.replace('-', ''), 'hex'))
    let left = sequence
    for (; left > 127; left = Math.floor(left / 128)) bytes.push((left % 128) + 128)
    bytes.push(left)
  }
  return Buffer.from(bytes).toString('base64url')
}

/** `null`: it is not a cursor. */
export function decodePlaces(cursor: string): Places | null {
  const bytes = Buffer.from(cursor, 'base64url')
  if (bytes[0] !== VERSION || bytes.toString('base64url') !== cursor) return null
  const places: Places = new Map()
  for (let at = 1; at < bytes.length; ) {
    const hex = bytes.toString('hex', at, at + TAIL_BYTES)
    at += TAIL_BYTES
    let sequence = 0
    for (let unit = 1; ; unit *= 128) {
      const byte = bytes[at++]
      if (byte === undefined || unit > 2 ** 28) return null
      sequence += (byte % 128) * unit
      if (byte < 128) break
    }
    if (sequence >= 2 ** 31) return null
    places.set(`${hex.slice(0, 4)}-${hex.slice(4)}`, sequence)
  }
  return places
}
