/** Links between pages of this repository lead somewhere: files, headings, and our own address on GitHub. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import GithubSlugger from 'github-slugger'
import type { Nodes } from 'mdast'
import { fromMarkdown } from 'mdast-util-from-markdown'

const root = fileURLToPath(new URL('../', import.meta.url))
const ADDRESS = 'https://github.com/runyard/runyard'
const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
const files = tracked.split('\n').filter((file) => existsSync(join(root, file)))

function* nodesOf(node: Nodes): Generator<Nodes> {
  yield node
  if ('children' in node) for (const child of node.children) yield* nodesOf(child)
}

const textOf = (node: Nodes): string =>
  [...nodesOf(node)].map((inner) => ('value' in inner ? inner.value : '')).join('')

const parse = (file: string): Nodes[] => [...nodesOf(fromMarkdown(readFileSync(join(root, file), 'utf8')))]

/** The anchors GitHub gives the headings of a page. */
function anchorsOf(file: string): string[] {
  const slugger = new GithubSlugger()
  return parse(file)
    .filter((node) => node.type === 'heading')
    .map((node) => slugger.slug(textOf(node)))
}

/** Why a link of this page leads nowhere; `null` when it is right, or none of ours. */
function fault(page: string, url: string): string | null {
  const own = url.startsWith(ADDRESS)
    ? url.slice(ADDRESS.length).replace(/^\/(blob|tree)\/main\//, '/')
    : null
  if (own === null && /^[a-z]+:/.test(url)) return null
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
    parse(page)
      .filter((node) => node.type === 'link' || node.type === 'image' || node.type === 'definition')
      .map((node) => fault(page, node.url))
      .filter((text) => text !== null),
  )
  assert.deepEqual(faults, [])
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
