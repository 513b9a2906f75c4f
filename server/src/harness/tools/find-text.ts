/**
 * Where `wanted` first stands in `text` at or after `from`, or -1: as `indexOf`, but in time that grows with both
 * (Knuth, Morris and Pratt). `indexOf` takes the product of the two where a text repeats itself, and here a model, and
 * whoever tells it what to do, chooses both.
 */
export function findText(text: string, wanted: string, from = 0): number {
  if (wanted === '') return from
  const fallback = fallbacksOf(wanted)
  let matched = 0
  for (let at = from; at < text.length; at += 1) {
    const unit = text.charCodeAt(at)
    while (matched > 0 && unit !== wanted.charCodeAt(matched)) matched = fallback[matched - 1] ?? 0
    if (unit === wanted.charCodeAt(matched)) matched += 1
    if (matched === wanted.length) return at + 1 - matched
  }
  return -1
}

/** For each beginning of the text, how long a shorter beginning ends it. */
function fallbacksOf(wanted: string): Uint32Array {
  const fallback = new Uint32Array(wanted.length)
  let length = 0
  for (let at = 1; at < wanted.length; at += 1) {
    const unit = wanted.charCodeAt(at)
    while (length > 0 && unit !== wanted.charCodeAt(length)) length = fallback[length - 1] ?? 0
    if (unit === wanted.charCodeAt(length)) length += 1
    fallback[at] = length
  }
  return fallback
}
