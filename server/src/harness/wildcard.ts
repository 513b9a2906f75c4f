/** Whether the pattern, in which `*` stands for any text, is the whole text. Takes no more than the product of both lengths. */
export function matchesWildcard(pattern: string, text: string): boolean {
  let at = 0
  let next = 0
  let star = -1
  let mark = 0
  while (at < text.length) {
    if (pattern[next] === '*') {
      star = next
      mark = at
      next += 1
    } else if (next < pattern.length && pattern[next] === text[at]) {
      next += 1
      at += 1
    } else if (star >= 0) {
      mark += 1
      at = mark
      next = star + 1
    } else return false
  }
  while (pattern[next] === '*') next += 1
  return next === pattern.length
}
