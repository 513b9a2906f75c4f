/** Runs the files of a unit with Node's test runner and says of each how it ended. */
import { run } from 'node:test'
import type { TestEvent } from 'node:test/reporters'
import { fileURLToPath } from 'node:url'
import type { Unit } from './plan.ts'

/** Tests by name, from the outermost suite on: `suite › test`. */
export interface FileResult {
  file: string
  passed: string[]
  skipped: string[]
  failed: string[]
}

const LANE = fileURLToPath(new URL('./lane.ts', import.meta.url))
const PRELOAD = fileURLToPath(new URL('./preload.ts', import.meta.url))
/** MiB. V8 begins with 1, and a file's many short-lived objects are copied again and again: some 5 % of its CPU. */
const YOUNG_OBJECTS = ['--min-semi-space-size=32', '--max-semi-space-size=32']
/** Of one file; `long` tests soak for an hour. */
const LIMIT_MS = { ordinary: 600_000, long: 3_600_000 }

/** `show` gets the events of one file after the other, as a reporter needs them. */
export async function runUnit(
  unit: Unit,
  options: { long: boolean; show(events: readonly TestEvent[]): void },
): Promise<FileResult[]> {
  const stream = run({
    files: unit.is_shared ? [LANE] : unit.files,
    env: { ...process.env, RUNYARD_TEST_FILES: unit.files.join('\n') },
    timeout: (options.long ? LIMIT_MS.long : LIMIT_MS.ordinary) * unit.files.length,
    // A connection that the Docker engine leaves open after the last test must not keep a file from ending.
    execArgv: ['--test-force-exit', ...YOUNG_OBJECTS, '--import', PRELOAD],
  })
  const results = new UnitResults(unit)
  let events: TestEvent[] = []
  for await (const event of stream as AsyncIterable<TestEvent>) {
    // Each unit has totals of its own; ours come at the end.
    if (event.type === 'test:summary' || (event.type === 'test:diagnostic' && event.data.nesting === 0))
      continue
    events.push(event)
    results.add(event)
    const is_end = event.type === 'test:pass' || event.type === 'test:fail'
    if (!is_end || event.data.nesting > 0) continue
    options.show(events)
    events = []
  }
  options.show(events)
  return results.list()
}

class UnitResults {
  readonly #unit: Unit
  readonly #results = new Map<string, FileResult>()
  /** The names of the suites around the test that the last event was about, and its own. */
  #path: string[] = []

  constructor(unit: Unit) {
    this.#unit = unit
  }

  add(event: TestEvent): void {
    if (event.type !== 'test:start' && event.type !== 'test:pass' && event.type !== 'test:fail') return
    this.#path = [...this.#path.slice(0, event.data.nesting), event.data.name]
    if (event.type === 'test:start') return
    // Also of a file without a test on this machine: it was run.
    const result = this.#resultOf((this.#unit.is_shared ? this.#path : this.#unit.files)[0] ?? LANE)
    if (event.type === 'test:fail') {
      // A suite that failed because a test in it did is not a failure of its own.
      if (!isSubtestFailure(event.data.details.error)) result.failed.push(this.#name())
    } else if (event.data.details.type !== 'suite') {
      const is_skipped = event.data.skip !== undefined || event.data.todo !== undefined
      result[is_skipped ? 'skipped' : 'passed'].push(this.#name())
    }
  }

  list(): FileResult[] {
    for (const file of this.#unit.files)
      if (!this.#results.has(file)) this.#resultOf(file).failed.push('not run: its process ended before')
    return [...this.#results.values()]
  }

  /** A file whose loading failed has no test to name. */
  #name(): string {
    const names = this.#unit.is_shared ? this.#path.slice(1) : this.#path
    return names.join(' › ') || 'not loaded'
  }

  #resultOf(file: string): FileResult {
    const result = this.#results.get(file) ?? { file, passed: [], skipped: [], failed: [] }
    this.#results.set(file, result)
    return result
  }
}

const isSubtestFailure = (error: object): boolean =>
  'failureType' in error && error.failureType === 'subtestsFailed'
