/**
 * `npm test [-- FOLDER|FILE … OPTIONS]`: installs what is missing on Debian, starts one PostgreSQL for all, runs every test and
 * ends with `N passed, N failed, N skipped`. What this machine cannot run is printed, never silent.
 *
 * --all          also files that passed and depend on nothing that has changed since; CI always does
 * --busy         keeps every core busy meanwhile, since no test may depend on a quiet machine
 * --names FILE   writes the names of all tests that ran, a line each, to compare with those of another checkout
 * --long         adds the soaks, and repeats on every sandbox what is the same code on all
 * --once         does not run failed files again
 * --shard 1/3    the first third of the work, for three machines
 * --times        prints the 20 files that cost most; --keep-times writes all to test/times.json
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { spec } from 'node:test/reporters'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { runPytest } from './run-pytest.ts'
import { hashFiles } from './testing/closure.ts'
import { describeCosts, readCosts, readMeasured, writeCosts } from './testing/costs.ts'
import { findTestFiles } from './testing/files.ts'
import { chooseShard, planUnits, runUnits, type Unit } from './testing/plan.ts'
import { prepareTests } from './testing/prepare.ts'
import { TestResults } from './testing/results.ts'
import { type FileResult, runUnit } from './testing/run-unit.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
process.chdir(root)
process.env.PATH = `${root}node_modules/.bin:${process.env.PATH}`

const { values: options, positionals: wanted } = parseArgs({
  allowPositionals: true,
  options: {
    all: { type: 'boolean', default: Boolean(process.env.CI) },
    busy: { type: 'boolean', default: false },
    long: { type: 'boolean', default: false },
    names: { type: 'string' },
    once: { type: 'boolean', default: false },
    shard: { type: 'string', default: '1/1' },
    times: { type: 'boolean', default: false },
    'keep-times': { type: 'boolean', default: false },
  },
})
const [, index = 0, count = 0] = (/^(\d+)\/(\d+)$/.exec(options.shard) ?? []).map(Number)
if (index < 1 || index > count) fail(`--shard is "${options.shard}"; use a number and a total, such as 1/3.`)

const in_python = wanted
  .filter((path) => /^python(\/|$)/.test(path))
  .map((path) => path.replace(/^python\/?$/, 'python/tests'))
const in_node = wanted.filter((path) => !/^python(\/|$)/.test(path))
const files = wanted.length > 0 && in_node.length === 0 ? [] : findTestFiles(in_node, options)
const pytest_paths = wanted.length === 0 && index === 1 ? ['python/tests'] : in_python
if (files.length === 0 && pytest_paths.length === 0) fail(`No test file lies in ${wanted.join(' ')}.`)

const results = new TestResults()
/** Computed before the first test, so that a change made during the run does not count as tested. */
const hashes = hashFiles(files, { long: String(options.long) })
const counts = { passed: 0, failed: 0, skipped: 0 }
const left_out = options.all
  ? []
  : files.filter((file) => results.passedBefore(file, hashes.get(file)) !== null)
const units = chooseShard(
  planUnits(
    files.filter((file) => !left_out.includes(file)),
    readCosts(),
  ),
  { index, count },
)
const log = join(mkdtempSync(join(tmpdir(), 'runyard-tests-')), 'costs')
writeFileSync(log, '')
process.env.RUNYARD_TEST_COSTS = log

const busy = options.busy ? keepBusy() : []
process.once('exit', () => {
  for (const child of busy) child.kill('SIGKILL')
  rmSync(join(log, '..'), { recursive: true, force: true })
})
const postgres = await prepareTests(
  units.flatMap((unit) => unit.files),
  options,
)
const events = new PassThrough({ objectMode: true })
const printed = events.compose(spec)
printed.pipe(process.stdout)
const show = (of_a_file: readonly object[]) => {
  for (const event of of_a_file) events.write(event)
}
/** Mostly waits for its turns and timers, so it begins first and runs beside the others. */
const pytest = pytest_paths.length > 0 ? runPytest(pytest_paths) : null
const failed: FileResult[] = []
const names: string[] = []
await runUnits(units, availableParallelism(), runAndCount)
await pytest
if (!options.once) await runFailedAgain()
await postgres?.stop()
events.end()
await new Promise((resolve) => printed.once('end', resolve))
await reportPytest()
report()
process.exit(counts.failed === 0 && counts.passed > 0 ? 0 : 1)

async function runAndCount(unit: Unit): Promise<void> {
  for (const result of await runUnit(unit, { long: options.long, show })) {
    counts.passed += result.passed.length
    counts.skipped += result.skipped.length
    counts.failed += result.failed.length
    const { file } = result
    for (const test of [result.passed, result.skipped, result.failed].flat()) names.push(`${file} › ${test}`)
    if (result.failed.length > 0) {
      failed.push(result)
      results.noteFailed(file, hashes.get(file), result.failed)
    } else if (result.skipped.length === 0) results.notePassed(file, hashes.get(file), result.passed.length)
  }
}

/** A test that passes now depends on more than its sources. It still counts as failed. */
async function runFailedAgain(): Promise<void> {
  for (const { file } of failed.filter((result) => files.includes(result.file)).slice(0, 10)) {
    const unit = { files: [file], is_shared: false, cpu_ms: 0, wall_ms: 0 }
    const [again] = await runUnit(unit, { long: options.long, show: () => {} })
    if (again?.failed.length === 0) results.notePassed(file, hashes.get(file), again.passed.length)
  }
}

async function reportPytest(): Promise<void> {
  const python = await pytest
  if (!python) return
  process.stdout.write(python.printed)
  counts.passed += python.passed
  counts.failed += python.failed
  counts.skipped += python.skipped
}

function report(): void {
  const measured = readMeasured(log)
  writeCosts(measured, { keep: options['keep-times'], files })
  results.save()
  if (options.names) writeFileSync(options.names, `${names.sort().join('\n')}\n`)
  const lines: string[] = []
  if (options.times) lines.push(describeCosts(measured, 20))
  const flaky = results.listFlaky()
  if (flaky.length > 0)
    lines.push(
      'Failed once and passed later with the same sources. Each is a fault to be found:',
      ...flaky.map(({ test, times, last }) => `  ${times} ×, last ${last}: ${test}`),
    )
  if (left_out.length > 0) {
    const before = left_out.reduce(
      (sum, file) => sum + (results.passedBefore(file, hashes.get(file)) ?? 0),
      0,
    )
    counts.passed += before
    lines.push(
      `${left_out.length} files (${before} tests) are unchanged since they passed. All again: npm test -- --all`,
    )
  }
  lines.push(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`)
  process.stdout.write(`\n${lines.join('\n')}\n`)
}

function keepBusy() {
  /** Until its parent has gone, however that ended. */
  const spin = 'for (const { ppid } = process; process.ppid === ppid; );'
  return Array.from({ length: availableParallelism() }, () => spawn(process.execPath, ['-e', spin]))
}

function fail(message: string): never {
  console.error(message)
  process.exit(2)
}
