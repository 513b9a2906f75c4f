import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import GithubSlugger from 'github-slugger'
import { resolveGuideLink, slugOf } from './guide-links.ts'
import { searchGuides } from './search-guides.ts'

const DOCS = join(import.meta.dirname, '../../../docs')
const guides = globSync(['*.md', 'tasks/*.md'], { cwd: DOCS }).map((file) => {
  const text = readFileSync(join(DOCS, file), 'utf8')
  return { path: file.replace(/\.md$/, ''), title: /^# (.+)$/m.exec(text)?.[1] ?? '', text }
})
const known = new Set(guides.map(({ path }) => path))
const slugsOf = (text: string) =>
  [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => slugOf(heading.replaceAll('`', '')))

test('headings are linked to as GitHub does it', () => {
  for (const heading of ['Files on S3', "What a claim's like, `x`", 'A/B: c_d – e', 'Änderung 2'])
    assert.equal(slugOf(heading), new GithubSlugger().slug(heading))
})

test('every link from guide to guide leads to a heading that is there', () => {
  let followed = 0
  for (const { path, text } of guides)
    for (const [, href = ''] of text.matchAll(/\]\(((?:[\w./-]+\.md)?(?:#[^)\s]+)?)\)/g)) {
      const target = resolveGuideLink(href, path, known)
      if (!target) {
        assert.match(href, /decisions\/|\.\.\/|images\//, `${path}: ${href}`)
        continue
      }
      followed += 1
      const text_there = guides.find((guide) => guide.path === target.path)?.text ?? ''
      if (target.hash) assert(slugsOf(text_there).includes(target.hash), `${path}: ${href}`)
    }
  assert(followed > 100)
  assert.equal(resolveGuideLink('https://example.com/access.md', 'access', known), null)
  assert.deepEqual(resolveGuideLink('../access.md#grants', 'tasks/team', known), {
    path: 'access',
    hash: 'grants',
  })
  assert.deepEqual(resolveGuideLink('#keys', 'access', known), { path: 'access', hash: 'keys' })
})

test('a search finds sections with all the words, by heading first', () => {
  const [first] = searchGuides(guides, 'workers queue')
  assert.deepEqual([first?.path, first?.hash], ['access', 'workers-and-the-queue'])
  assert.deepEqual(
    searchGuides(guides, 'RUNYARD_METRICS_TOKEN')
      .map(({ path }) => path)
      .includes('configuration'),
    true,
  )
  assert.deepEqual(searchGuides(guides, 'no-such-word-anywhere'), [])
  assert.deepEqual(searchGuides(guides, ' '), [])
  for (const { excerpt } of searchGuides(guides, 'secret')) assert(excerpt.length <= 165)
})
