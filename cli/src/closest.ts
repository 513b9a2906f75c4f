import { oneLine } from './one-line.ts'

/** Letters to change, add or take away to make one text of the other: Levenshtein's distance. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1]
    for (let j = 1; j <= b.length; j += 1)
      next[j] = Math.min(
        (row[j] ?? 0) + 1,
        (next[j - 1] ?? 0) + 1,
        (row[j - 1] ?? 0) + (letter === b[j - 1] ? 0 : 1),
      )
    row = next
  }
  return row[b.length] ?? 0
}

const LONGEST_COMPARED = 128
const MOST_LISTED = 10

/** The name that somebody meant who wrote `given`; null when none is near. */
export function findClosest(given: string, names: readonly string[]): string | null {
  const wanted = given.toLowerCase().slice(0, LONGEST_COMPARED)
  const near = names
    .map((name) => ({ name, lower: name.toLowerCase().slice(0, LONGEST_COMPARED) }))
    .map(({ name, lower }) => ({
      name,
      away: wanted.length > 1 && lower.startsWith(wanted) ? 0 : distance(wanted, lower),
    }))
    .filter(({ name, away }) => away <= Math.max(1, Math.floor(Math.min(name.length, wanted.length) / 3)))
    .sort((a, b) => a.away - b.away)
  return near[0]?.name ?? null
}

/** `did you mean shop?`, or the names that there are. */
export function suggestName(given: string, all: readonly string[], none: string): string {
  if (all.length === 0) return none
  // Names are other people's words.
  const names = all.map(oneLine)
  const closest = findClosest(given, names)
  if (closest !== null) return `did you mean ${closest}?`
  const more = names.length - MOST_LISTED
  return `there are: ${names.slice(0, MOST_LISTED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}
