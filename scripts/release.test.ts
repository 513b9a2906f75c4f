/** The steps of docs/releasing.md, on this checkout, up to where something would be published. */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { nameVersion, readVersion } from './named-versions.ts'
import { CHANGELOGS, checkRelease, findSection } from './release-checks.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
const version = readVersion(root)
const directory = mkdtempSync(join(tmpdir(), 'runyard release ü-'))
after(() => rmSync(directory, { recursive: true, force: true }))

const git = (cwd: string, ...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=A', '-c', 'user.email=a@localhost', ...args], {
    cwd,
    encoding: 'utf8',
  })
const release = (...args: string[]) =>
  spawnSync(process.execPath, ['scripts/release.ts', ...args], { cwd: root, encoding: 'utf8' })

/** The files of every version, in a repository of their own. */
function copyVersions(name: string): string {
  const copy = join(directory, name)
  for (const file of [...nameVersion(root, '9.8.7').keys(), ...CHANGELOGS]) {
    mkdirSync(dirname(join(copy, file)), { recursive: true })
    cpSync(join(root, file), join(copy, file))
  }
  git(copy, 'init', '-q')
  git(copy, 'add', '-A')
  git(copy, 'commit', '-qm', 'One')
  return copy
}

test('a dry run builds everything that a release has, and changes nothing else', { timeout: 300_000 }, () => {
  const before = git(root, 'status', '--porcelain')
  const { status, stdout, stderr } = release('--dry-run', '--out', directory, version)
  assert.equal(status, 0, stderr)
  assert.equal(git(root, 'status', '--porcelain'), before)
  assert.equal(git(root, 'tag', '--list', `v${version}`), '')
  const archives = [
    `runyard-${version}.tgz`,
    `runyard-client-${version}.tgz`,
    `runyard-${version}.image.tar.gz`,
    `runyard-${version}.chart.tgz`,
    `runyard-${version}-py3-none-any.whl`,
  ]
  const files = [...archives, `runyard-${version}.cdx.json`, `runyard-${version}.notes.md`]
  assert.deepEqual(readdirSync(directory).sort(), [...files, 'SHA256SUMS'].sort())
  const sums = readFileSync(join(directory, 'SHA256SUMS'), 'utf8')
  const expected = files.map((file) => {
    const bytes = readFileSync(join(directory, file))
    return `${createHash('sha256').update(bytes).digest('hex')}  ${file}\n`
  })
  assert.equal(sums, expected.join(''))
  const { specVersion, components } = JSON.parse(
    readFileSync(join(directory, `runyard-${version}.cdx.json`), 'utf8'),
  ) as { specVersion: string; components: Array<{ name: string }> }
  assert.match(specVersion, /^1\.[5-9]$/)
  const names = components.map(({ name }) => name)
  for (const name of ['fastify', 'commander', 'react']) assert(names.includes(name), name)
  // Only tests use it.
  assert(!names.includes('playwright-core'))
  for (const file of archives) assert(stdout.includes(`${directory}/${file}`), stdout)
  assert.match(
    stdout,
    /^ {2}npm publish .*^ {2}twine upload .*^ {2}docker buildx build .*^ {2}helm push .*^ {2}gh release create /ms,
  )
  // Helm's archive is none of npm's.
  assert.doesNotMatch(stdout, /npm publish .*chart/)
})

test('a new version is named in every file that names the old one', () => {
  const copy = copyVersions('every')
  const changed = nameVersion(copy, '9.8.7')
  for (const [file, text] of changed) writeFileSync(join(copy, file), text)
  assert.equal(readVersion(copy), '9.8.7')
  assert.equal(nameVersion(copy, '9.8.7').size, 0)
  const names_it = (text: string): boolean =>
    new RegExp(`(?<![\\w.])${version.replaceAll('.', '\\.')}(?!\\.?\\d)|-${version}[.-]`).test(text)
  const elsewhere = git(root, 'grep', '-lIF', version)
    .split('\n')
    .filter(Boolean)
    .filter((file) => !changed.has(file) && names_it(readFileSync(join(root, file), 'utf8')))
    // Generated, or about one version for good.
    .filter(
      (file) =>
        !/^docs\/decisions\/|CHANGELOG\.md$|package-lock\.json$|\.test\.ts$|^python\/requirements-dev\.txt$/.test(
          file,
        ),
    )
  assert.deepEqual(elsewhere.sort(), [
    'openapi.json',
    'python/src/runyard/_version.py',
    'scripts/released-openapi.json',
  ])
  const lock = JSON.parse(changed.get('package-lock.json') ?? '') as {
    version: string
    packages: Record<string, { version: string; dependencies: Record<string, string> }>
  }
  assert.deepEqual(
    ['', 'server', 'client', 'cli', 'web'].map((name) => lock.packages[name]?.version),
    Array(5).fill('9.8.7'),
  )
  assert.equal(lock.packages.cli?.dependencies['@runyard/server'], '9.8.7')
  // Packages of others keep theirs, such as react-markdown 10.1.0.
  assert(changed.get('web/package.json')?.includes('"react-markdown": "^10.'))
})

test('what cannot be released is refused, with the way out', () => {
  const copy = copyVersions('refused')
  const changelog = (heading: string, text = '- New.') => {
    for (const file of CHANGELOGS)
      writeFileSync(join(copy, file), `# Changelog\n\n## ${heading}\n\n${text}\n`)
  }
  for (const wrong of ['', 'v1.0.0', '1.0', '1.0.0-rc.1', '01.0.0', '1.0.0\n', '１.0.0', '1.0.0 --force'])
    assert.match(checkRelease(copy, wrong).refusals.join(), /Give three numbers/, JSON.stringify(wrong))
  changelog('9.8.7 (2026-12-24)')
  assert.match(checkRelease(copy, '0.0.1').refusals.join(), /^0\.0\.1 is older than /)
  assert.match(
    checkRelease(copy, '9.8.8').refusals.join(),
    /first section of CHANGELOG\.md is not "## 9\.8\.8/,
  )
  // Uncommitted, but right otherwise.
  const { refusals, open } = checkRelease(copy, '9.8.7')
  assert.deepEqual(refusals, [])
  assert.match(open.join(), /^The work tree has changes\. .*python\/CHANGELOG\.md$/s)
  git(copy, 'commit', '-qam', 'Two')
  assert.deepEqual(checkRelease(copy, '9.8.7'), { refusals: [], open: [] })
  git(copy, 'tag', 'v9.8.7')
  assert.match(checkRelease(copy, '9.8.7').open.join(), /^The tag v9\.8\.7 exists already/)
  changelog('9.8.8 (unreleased)')
  git(copy, 'commit', '-qam', 'Three')
  assert.match(checkRelease(copy, '9.8.8').open.join(), /says "unreleased" behind 9\.8\.8/)
  changelog('9.8.8 (2026-12-24)', '')
  assert.match(checkRelease(copy, '9.8.8').refusals.join(), /says nothing about 9\.8\.8/)
  const { status, stderr } = release('1.0', '--dry-run')
  assert.deepEqual([status, stderr.split('\n').length], [1, 2], stderr)
  assert.match(release('--dry', version).stderr, /^Unknown option '--dry'/)
})

test('the newest section of a changelog is that of a release', () => {
  const text = '# Changelog\n\n## 0.2.0 (2026-12-24)\n\n- New.\n\n## 0.1.0 (2026-11-01)\n\n- First.\n'
  assert.deepEqual(findSection(text, '0.2.0'), { note: '2026-12-24', text: '- New.' })
  assert.equal(findSection(text, '0.1.0'), null)
  assert.equal(findSection('', '0.1.0'), null)
})
