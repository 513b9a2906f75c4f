/** The tests of the Python client, counted. Says what it could not run. */
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { setupPython } from './setup-python.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
const TIME_LIMIT_MS = 600_000

export interface Counts {
  passed: number
  failed: number
  skipped: number
}

/**
 * `paths` are folders or files from the root. Without Python they count as one skipped test. What pytest prints comes when
 * it has ended, since other tests run meanwhile.
 */
export async function runPytest(paths: string[]): Promise<Counts & { printed: string }> {
  const setup = setupPython()
  if ('missing' in setup) {
    return { passed: 0, failed: 0, skipped: 1, printed: `skipped: ${paths.join(' ')}: ${setup.missing}\n` }
  }
  const folder = mkdtempSync(join(tmpdir(), 'runyard-pytest-'))
  try {
    const report = join(folder, 'report.xml')
    const args = ['-m', 'pytest', '-c', 'python/pyproject.toml', '-q', `--junit-xml=${report}`, ...paths]
    const child = spawn(setup.python, args, {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: TIME_LIMIT_MS,
    })
    const ended = new Promise<number | null>((resolve, reject) =>
      child.once('error', reject).once('close', resolve),
    )
    const [stdout, stderr, status] = await Promise.all([text(child.stdout), text(child.stderr), ended])
    const counts = status === null ? null : readReport(report)
    const missing =
      counts === null ? `pytest ended with ${status ?? 'no exit code: stopped'} and no report\n` : ''
    // An exit code that no counted test explains, such as that no test was found, is a failure of its own.
    const failed = Math.max(counts?.failed ?? 0, status === 0 ? 0 : 1)
    const printed = stdout + stderr + missing
    return { passed: counts?.passed ?? 0, skipped: counts?.skipped ?? 0, failed, printed }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** The totals that JUnit's format has as attributes of its suite. */
function readReport(file: string): Counts | null {
  let suite: string | undefined
  try {
    suite = /<testsuite [^>]*>/.exec(readFileSync(file, 'utf8'))?.[0]
  } catch {}
  if (suite === undefined) return null
  const [tests = 0, failures = 0, errors = 0, skipped = 0] = ['tests', 'failures', 'errors', 'skipped'].map(
    (name) => Number(new RegExp(` ${name}="(\\d+)"`).exec(suite)?.[1] ?? 0),
  )
  return { passed: tests - failures - errors - skipped, failed: failures + errors, skipped }
}
