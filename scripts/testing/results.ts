/**
 * What is remembered between runs, in `node_modules/.cache`: which files passed with which hash, and which tests have failed
 * and passed with the same sources. The latter is a fault to be found, in the test or in the product.
 */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

export interface Passed {
  hash: string
  passed: number
}

export interface Flaky {
  /** `file › suite › test`. */
  test: string
  /** How often it failed and then passed. */
  times: number
  /** ISO 8601. */
  last: string
}

interface Results {
  passed: Record<string, Passed>
  /** By test, the hash of its file when it failed last. */
  failed: Record<string, string>
  flaky: Record<string, Flaky>
}

const PATH = 'node_modules/.cache/runyard-tests/results.json'

export class TestResults {
  readonly #kept: Results = readResults()

  /** How many tests of the file passed, if nothing that it depends on has changed since. Without a hash, nobody knows. */
  passedBefore(file: string, hash: string | undefined): number | null {
    const known = this.#kept.passed[file]
    return known !== undefined && known.hash === hash ? known.passed : null
  }

  notePassed(file: string, hash: string | undefined, passed: number): void {
    if (hash === undefined) return
    this.#kept.passed[file] = { hash, passed }
    const again = Object.entries(this.#kept.failed).filter(
      ([test, failed_with]) => test.startsWith(`${file} › `) && failed_with === hash,
    )
    for (const [test] of again) this.noteFlaky(test)
    this.#forgetFailures(file)
  }

  noteFailed(file: string, hash: string | undefined, tests: readonly string[]): void {
    if (hash === undefined) return
    delete this.#kept.passed[file]
    this.#forgetFailures(file)
    for (const test of tests) this.#kept.failed[`${file} › ${test}`] = hash
  }

  noteFlaky(test: string): void {
    const times = (this.#kept.flaky[test]?.times ?? 0) + 1
    this.#kept.flaky[test] = { test, times, last: new Date().toISOString() }
  }

  listFlaky(): Flaky[] {
    return Object.values(this.#kept.flaky)
  }

  save(): void {
    mkdirSync(dirname(PATH), { recursive: true })
    // Another run may read it just now.
    writeFileSync(`${PATH}.${process.pid}`, JSON.stringify(this.#kept, null, 1))
    renameSync(`${PATH}.${process.pid}`, PATH)
  }

  #forgetFailures(file: string): void {
    for (const test of Object.keys(this.#kept.failed))
      if (test.startsWith(`${file} › `)) delete this.#kept.failed[test]
  }
}

function readResults(): Results {
  const none: Results = { passed: {}, failed: {}, flaky: {} }
  try {
    return { ...none, ...(JSON.parse(readFileSync(PATH, 'utf8')) as Partial<Results>) }
  } catch {
    return none
  }
}
