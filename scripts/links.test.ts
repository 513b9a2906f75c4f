/** Links between pages of this repository lead somewhere: files, headings, and our own address on GitHub. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import GithubSlugger from 'github-slugger'
import MarkdownIt from 'markdown-it'

const root = fileURLToPath(new URL('../', import.meta.url))
const ADDRESS = 'https://github.com/runyard/runyard'
const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
const files = tracked.split('\n').filter((file) => existsSync(join(root, file)))

const markdown = new MarkdownIt()
const parse = (file: string) => markdown.parse(readFileSync(join(root, file), 'utf8'), {})

/** The anchors GitHub gives the headings of a page. */
function anchorsOf(file: string): string[] {
  const slugger = new GithubSlugger()
  const tokens = parse(file)
  return tokens.flatMap(({ type }, index) => {
    if (type !== 'heading_open') return []
    const text = (tokens[index + 1]?.children ?? []).map(({ content }) => content).join('')
    return [slugger.slug(text)]
  })
}

/** Where the links and images of a page lead. */
const addressesOf = (page: string): string[] =>
  parse(page)
    .flatMap((token) => token.children ?? [])
    .map((token) => token.attrGet('href') ?? token.attrGet('src'))
    .filter((address) => typeof address === 'string')

/** Why a link of this page leads nowhere; `null` when it is right, or none of ours. */
function fault(page: string, url: string): string | null {
  const own = url.startsWith(ADDRESS)
    ? url.slice(ADDRESS.length).replace(/^\/(blob|tree)\/main\//, '/')
    : null
  if (own === null && /^[a-z]+:/.test(url)) return null
  // A form of the forge, which is no file.
  if (own === '/security/advisories/new') return null
  const [path = '', anchor] = decodeURI(own ?? url).split('#')
  const from = own === null ? join(root, page, '..') : root
  let target = path === '' && own === null ? page : relative(root, resolve(from, `./${path}`))
  if (target === '') target = 'README.md'
  if (!existsSync(join(root, target))) return `${page}: ${url}: there is no ${target}`
  if (anchor && !anchorsOf(target).includes(anchor)) return `${page}: ${url}: no such heading in ${target}`
  return null
}

test('every link of a page leads somewhere', () => {
  const pages = files.filter((file) => file.endsWith('.md'))
  assert(pages.includes('README.md'))
  const faults = pages.flatMap((page) =>
    addressesOf(page)
      .map((url) => fault(page, url))
      .filter((text) => text !== null),
  )
  assert.deepEqual(faults, [])
})

test('a call of a page begins at RUNYARD_BASE_URL, which has the /api/v1 already', () => {
  const wrong = files.filter(
    (file) =>
      file.endsWith('.md') && /RUNYARD_BASE_URL\}?\/api\//.test(readFileSync(join(root, file), 'utf8')),
  )
  assert.deepEqual(wrong, [])
})

test('the repository has one address', () => {
  const others = files
    .filter((file) => /\.(md|toml|json|ts|js|py)$/.test(file) && !file.endsWith('package-lock.json'))
    .flatMap((file) => {
      const text = readFileSync(join(root, file), 'utf8')
      const addresses = text.match(/github\.com[/:][\w.-]+\/runyard\b/g) ?? []
      return addresses.filter((address) => !ADDRESS.endsWith(address)).map((address) => `${file}: ${address}`)
    })
  assert.deepEqual(others, [])
})
