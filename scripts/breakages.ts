/**
 * `npm run test:breakages [NAME …]`: would the tests notice? Each patch in `test/breakages` breaks the product in one place and names
 * the test files that should see it. Applies one after the other to a copy of the work tree, runs these files there, and fails if all of
 * them pass. `--sample N` takes N of them at random. `--skip-unpatched` trusts that the files pass without a patch, `--json FILE`
 * writes down every test that failed.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { cpSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { parseArgs, stripVTControlCharacters } from 'node:util'
import { copyWorkTree } from './copy-work-tree.ts'

interface Breakage {
  name: string
  patch: string
  sentence: string
  /** Test files that should see it, the cheapest first. */
  seen_by: string[]
}

interface Outcome {
  failures: Array<{ file: string; test: string }>
  /** Why the tests show nothing; `null` if they ran. */
  why: string | null
}

const root = fileURLToPath(new URL('../', import.meta.url))
const MOST_FILES = 3
/** How long the tests have to end after Ctrl-C. */
const STOP_MS = 5_000

const OPTIONS = {
  sample: { type: 'string' },
  json: { type: 'string' },
  'skip-unpatched': { type: 'boolean' },
} as const
const { values, positionals } = parseArgs({ options: OPTIONS, allowPositionals: true })

let child: ChildProcess | undefined
let stopping = false
const copy = mkdtempSync(join(tmpdir(), 'runyard-breakages-'))
process.once('exit', () => rmSync(copy, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 }))
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, stop)

process.exit(await runAll(choose(readBreakages())))

async function runAll(breakages: readonly Breakage[]): Promise<number> {
  copyWorkTree(root, copy)
  if (!values['skip-unpatched'] && !(await passUnpatched(breakages))) return 1
  const results: Array<Omit<Breakage, 'patch'> & Outcome> = []
  for (const { patch, ...breakage } of breakages) {
    const { failures, why } = await tryBreakage(patch, breakage.seen_by)
    results.push({ ...breakage, failures, why })
    const [first] = failures
    const seen = first && `seen  ${breakage.name}  ${first.file}: ${first.test}`
    console.log(seen ?? `UNSEEN ${breakage.name}  ${why ?? `by ${breakage.seen_by.join(', ')}`}`)
  }
  if (values.json) writeFileSync(values.json, `${JSON.stringify(results, null, 2)}\n`)
  const unseen = results.filter(({ failures }) => failures.length === 0).length
  console.log(`\n${results.length - unseen} seen, ${unseen} unseen`)
  return unseen > 0 ? 1 : 0
}

function readBreakages(): Breakage[] {
  const folder = join(root, 'test/breakages')
  return globSync('*.patch', { cwd: folder })
    .sort()
    .map((file) => {
      const patch = readFileSync(join(folder, file), 'utf8')
      const [head = ''] = patch.split(/^diff --git /m, 1)
      const [sentence = '', seen = '', ...more] = head.trim().split('\n')
      const seen_by = seen.replace(/^Seen by: /, '').split(' ')
      const missing = seen_by.find((path) => !existsSync(join(root, path)))
      if (!seen.startsWith('Seen by: ') || more.length > 0 || seen_by.length > MOST_FILES)
        fail(`${file} begins with a sentence and “Seen by: ”, one to ${MOST_FILES} test files.`)
      if (missing !== undefined) fail(`${file}: there is no ${missing}.`)
      return { name: basename(file, '.patch'), patch, sentence, seen_by }
    })
}

function choose(all: readonly Breakage[]): readonly Breakage[] {
  const unknown = positionals.find((name) => !all.some((breakage) => breakage.name === name))
  if (unknown !== undefined) fail(`There is no breakage ${unknown}.`)
  const named = positionals.length === 0 ? all : all.filter(({ name }) => positionals.includes(name))
  if (values.sample === undefined) return named
  const at_random = named.map((breakage) => [Math.random(), breakage] as const).sort(([a], [b]) => a - b)
  return at_random.slice(0, Number(values.sample)).map(([, breakage]) => breakage)
}

async function passUnpatched(breakages: readonly Breakage[]): Promise<boolean> {
  const files = [...new Set(breakages.flatMap(({ seen_by }) => seen_by))].sort()
  const { failures, why } = await runTests(files)
  if (failures.length === 0 && why === null) return true
  console.log('These fail without any patch, so they cannot show what a patch breaks:')
  console.log(why ?? failures.map(({ file, test }) => `${file}: ${test}`).join('\n'))
  return false
}

async function tryBreakage(patch: string, files: readonly string[]): Promise<Outcome> {
  const apply = (...options: string[]) =>
    spawnSync('git', ['apply', ...options, '-'], { cwd: copy, input: patch, encoding: 'utf8' })
  // `npm test` builds the page with the patch in it; afterwards the page from before is put back.
  const dist = join(copy, 'web/dist')
  const kept = `${dist}-kept`
  const builds_page = /^\+\+\+ b\/(web|client)\//m.test(patch) && existsSync(dist)
  const { status, stderr } = apply()
  if (status !== 0) return { failures: [], why: `its patch does not apply: ${stderr.trim()}` }
  if (builds_page) cpSync(dist, kept, { recursive: true })
  try {
    return await runTests(files)
  } finally {
    if (apply('-R').status !== 0) fail('A patch cannot be taken back: its tests have changed the copy.')
    if (builds_page) {
      rmSync(dist, { recursive: true, force: true })
      cpSync(kept, dist, { recursive: true })
      rmSync(kept, { recursive: true })
    }
  }
}

async function runTests(files: readonly string[]): Promise<Outcome> {
  // A test may have started this script. With its variables `npm test` runs nothing, or uses its database.
  const inherited = Object.entries(process.env).filter(([name]) => !/^(NODE_TEST|RUNYARD_TEST)_/.test(name))
  const started = spawn(process.execPath, ['scripts/test.ts', '--all', '--once', ...files], {
    cwd: copy,
    env: { ...Object.fromEntries(inherited), NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  child = started
  const [stdout, stderr] = await Promise.all([text(started.stdout), text(started.stderr)])
  // Tests that were stopped have nothing to say; `stop` ends the process.
  if (stopping) await new Promise(() => {})
  const printed = stripVTControlCharacters(stdout)
  const counts = /(\d+) passed, (\d+) failed, (\d+) skipped\s*$/.exec(printed)
  const [, passed = 0, failed = 0, skipped = 0] = counts?.map(Number) ?? []
  if (!counts) return { failures: [], why: `its tests broke off: ${(stderr || printed).trim().slice(-500)}` }
  if (passed + failed === 0) return { failures: [], why: `all ${skipped} tests were skipped` }
  if (failed === 0) return { failures: [], why: null }
  const by_node = printed.matchAll(/^test at (\S+?):\d+:\d+\n✖ (.+?)(?: \([\d.]+ms\))?$/gm)
  const by_pytest = printed.matchAll(/^(?:FAILED|ERROR) (\S+?)::(\S+)/gm)
  // A test that several files share is reported under the file that holds its code.
  const only = files.length === 1 ? files[0] : undefined
  const failures = [...by_node, ...by_pytest]
    .map(([, file = '', test = '']) => ({ file: only ?? file.replace(`${copy}/`, ''), test }))
    // A file that could not be loaded, or was killed, says nothing about what is broken.
    .filter(({ file, test }) => file !== test.replace(`${copy}/`, ''))
  return { failures, why: failures.length > 0 ? null : `${failed} failed, and no test of a file by itself` }
}

async function stop(): Promise<void> {
  stopping = true
  const { pid } = child ?? {}
  if (pid !== undefined && child?.exitCode === null) {
    const ended = new Promise((resolve) => child?.once('exit', resolve))
    process.kill(-pid, 'SIGINT')
    await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, STOP_MS))])
  }
  process.exit(130)
}

function fail(why: string): never {
  console.error(why)
  process.exit(1)
}
