/**
 * The README word for word, as a newcomer follows it: in an empty folder with an empty home, with the Node and Python of
 * this machine, in two terminals. The address of the repository leads to the last commit of this checkout.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { temporaryDirectory } from '../server/test/support/leftovers.ts'
import { LONG } from '../server/test/support/once.ts'
import { CACHE_DIR } from '../server/test/support/shared-cache.ts'
import { readVersion } from './named-versions.ts'
import { Terminal } from './terminal.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
const ADDRESS = 'https://github.com/runyard/runyard'
/** By `scripts/keep-pack.ts`. */
const PACKS = 'node_modules/.cache/runyard-packs'
const LIMIT = { timeout: 580_000 }
/** What leads programs of this machine to their registries. */
const NETWORK = /^(pip_|npm_config_registry$|https?_proxy$|no_proxy$|ssl_cert_|node_extra_ca_certs$)/i

const git = (...args: string[]): string => execFileSync('git', ['-C', root, ...args], { encoding: 'utf8' })

/** An account that has only just been made, apart from what has been downloaded before. */
function newcomer(home: string): NodeJS.ProcessEnv {
  const { PATH = '', npm_config_cache = join(homedir(), '.npm') } = process.env
  return {
    ...Object.fromEntries(Object.entries(process.env).filter(([name]) => NETWORK.test(name))),
    PATH: PATH.split(':')
      .filter((folder) => !/node_modules\/\.bin$|node-gyp-bin$/.test(folder))
      .join(':'),
    HOME: home,
    npm_config_cache,
    npm_config_userconfig: join(homedir(), '.npmrc'),
    GIT_CONFIG_COUNT: '1',
    GIT_CONFIG_KEY_0: `url.${root}.insteadOf`,
    GIT_CONFIG_VALUE_0: ADDRESS,
    // What they would do besides: look for vulnerabilities, and compile what runs once.
    npm_config_audit: 'false',
    PIP_NO_COMPILE: '1',
    // Docker would download an image of its own first.
    RUNYARD_SANDBOX: 'bubblewrap',
  }
}

/**
 * What this checkout has installed and built, so that `npm install` and `npm run pack` find it there: fetching and building it is
 * more than half of what all of the README costs. Links, but for what is written in place.
 */
function lendPackages(clone: string): void {
  const folders = globSync('{.,*}/node_modules', { cwd: root })
  for (const folder of folders) execFileSync('cp', ['-al', join(root, folder), join(clone, folder)])
  for (const name of ['.cache', '.vite-temp', '.package-lock.json'])
    rmSync(join(clone, 'node_modules', name), { recursive: true, force: true })
  for (const name of ['node_modules/.package-lock.json', 'web/dist'])
    cpSync(join(root, name), join(clone, name), { recursive: true })
  // Other tests install the same packs: the first test that needs one builds it, here or there.
  mkdirSync(join(root, PACKS), { recursive: true })
  mkdirSync(join(clone, dirname(PACKS)))
  symlinkSync(join(root, PACKS), join(clone, PACKS))
}

/** The empty embedded database that other tests have made. How it is made where there is none, its own test shows. */
function lendDatabase(home: string): void {
  const folder = join(home, '.cache/runyard')
  mkdirSync(folder, { recursive: true })
  for (const database of globSync('database-[0-9]*', { cwd: CACHE_DIR }))
    cpSync(join(CACHE_DIR, database), join(folder, database), { recursive: true })
}

suite('the README', LIMIT, () => {
  // The path is not plain on purpose.
  const directory = join(temporaryDirectory('readme'), 'a newcomer’s folder')
  const home = join(directory, 'home')
  // As it is in the clone.
  const readme = git('show', 'HEAD:README.md')
  const blocks = Array.from(readme.matchAll(/<!-- test: (.+) -->\n```\w+\n([\s\S]*?)```\n/g), (match) => ({
    where: match[1] ?? '',
    text: match[2] ?? '',
  }))
  let first: Terminal
  let second: Terminal

  /** The next block of the page, which is to stand in this place. */
  const next = (where: string): string => {
    const block = blocks.shift()
    assert.equal(block?.where, where)
    return block.text
  }

  before(() => {
    mkdirSync(home, { recursive: true })
    first = new Terminal(directory, newcomer(home))
  })
  after(async () => {
    await second?.close()
    await first.close()
  }, LIMIT)

  test('from git clone to the demo', LIMIT, async (t) => {
    const changes = git('status', '--porcelain')
    if (changes) t.diagnostic(`The clone is of the last commit, without these changes:\n${changes}`)
    const [clone = '', install = ''] = next('first terminal').split(/^(?=npm install$)/m)
    await first.run(clone)
    if (!LONG) {
      lendPackages(join(directory, 'runyard'))
      lendDatabase(home)
    }
    const printed = await first.run(install)
    assert.match(printed, /failed before and pass now\.\n/)
    assert.match(printed, /✓ Done in /)
  })

  test('dev starts', LIMIT, async () => {
    first.type(next('first terminal, stays'))
    await first.printed('A first run')
    second = new Terminal(join(directory, 'runyard'), newcomer(home))
  })

  test('the command line', LIMIT, async () => {
    assert.match(await second.run(next('second terminal')), /│ hello from Linux\n/)
  })

  test('curl', LIMIT, async () => {
    await second.run(next('second terminal'))
    const printed = await second.run(next('second terminal'))
    assert.match(printed, /event: tool\.output\ndata: .*git version/)
    assert.match(printed, /event: end\n/)
    assert.match(printed, /"outcome":"handoff_execution"/)
    assert.match(printed, /"state":"CANCELLED"/)
  })

  test('the packages are built', LIMIT, async () => {
    const printed = await second.run(next('second terminal'))
    const version = readVersion(root)
    for (const file of [
      `runyard-${version}.tgz`,
      `runyard-client-${version}.tgz`,
      `runyard-${version}-py3-none-any.whl`,
    ])
      assert(printed.includes(`dist/${file}\n`), printed)
  })

  test('TypeScript', LIMIT, async () => {
    await second.run(next('second terminal'))
    writeFileSync(join(directory, 'hello-ts/hello.mjs'), next('hello.mjs'))
    assert.match(await second.run(next('second terminal')), /git version [\s\S]*\nSUCCEEDED\nPT/)
  })

  test('Python', LIMIT, async () => {
    await second.run(next('second terminal'))
    writeFileSync(join(directory, 'hello-py/hello.py'), next('hello.py'))
    assert.match(await second.run(next('second terminal')), /SUCCEEDED PT.*\nLinux /)
  })

  test('Ctrl-C stops dev, and every block was tried', LIMIT, async () => {
    await first.close()
    await assert.rejects(fetch('http://127.0.0.1:4200/healthz'))
    assert.deepEqual(blocks, [])
    const [quickStart = ''] = readme.split('## On PostgreSQL')
    const untried = quickStart.match(/(?<!<!-- test: .+ -->\n)^```\w+\n/gm)
    assert.equal(untried, null)
  })
})
