import { slugOf } from './guide-links.ts'
import type { GuideText } from './guides.ts'

export interface Found {
  path: string
  title: string
  /** Of the section; empty: the beginning of the guide. */
  heading: string
  hash: string
  /** Around the first word. */
  excerpt: string
}

const MOST = 30
const BEFORE = 40
const LENGTH = 160

/** The sections that have all the words, those first that have them in their heading or the guide's title. */
export function searchGuides(guides: readonly GuideText[], query: string): Found[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return []
  const found = guides.flatMap(({ path, title, text }) =>
    splitSections(text).flatMap(({ heading, body }) => {
      const [name, section, all] = [title, heading, `${title} ${heading} ${body}`].map((each) =>
        each.toLowerCase(),
      )
      if (!words.every((word) => all?.includes(word))) return []
      const rank = words.reduce(
        (sum, word) => sum + (section?.includes(word) ? 4 : 0) + (name?.includes(word) ? 2 : 0),
        heading === '' ? 1 : 0,
      )
      return [
        { rank, path, title, heading, hash: slugOf(heading), excerpt: cutExcerpt(body, words[0] ?? '') },
      ]
    }),
  )
  return found
    .sort((a, b) => b.rank - a.rank)
    .slice(0, MOST)
    .map(({ rank: _, ...each }) => each)
}

/** At its headings, below its title; a sign in a block of code begins none. */
function splitSections(text: string): Array<{ heading: string; body: string }> {
  const sections = [{ heading: '', body: '' }]
  let is_code = false
  for (const line of text.split('\n').slice(1)) {
    if (/^\s*(```|~~~)/.test(line)) is_code = !is_code
    const heading = is_code ? null : /^#+ (.+)$/.exec(line)?.[1]
    if (heading) sections.push({ heading: heading.replaceAll('`', ''), body: '' })
    else {
      const last = sections.at(-1)
      if (last) last.body += `${line}\n`
    }
  }
  return sections
}

function cutExcerpt(body: string, word: string): string {
  const plain = body
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[`*|]|^\s*(```|~~~).*$/gm, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim()
  const at = Math.max(0, plain.toLowerCase().indexOf(word) - BEFORE)
  const start = at === 0 ? 0 : plain.indexOf(' ', at) + 1
  return `${start > 0 ? '…' : ''}${plain.slice(start, start + LENGTH)}${plain.length > start + LENGTH ? '…' : ''}`
}
