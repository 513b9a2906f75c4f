/** The package of the Python library, built with pip alone: the toolchain of `.venv` is for those who work on it. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { keepPack } from './keep-pack.ts'
import { basePython } from './setup-python.ts'

const project = fileURLToPath(new URL('../python/', import.meta.url))

/** The path of the wheel, or in a sentence why there is none. */
export async function packPython(destination: string): Promise<{ wheel: string } | { missing: string }> {
  const base = basePython()
  if ('missing' in base) return base
  try {
    return { wheel: await keepPack('python', destination, async (kept) => buildWheel(base.python, kept)) }
  } catch {
    return { missing: 'The Python package could not be built; see above.' }
  }
}

function buildWheel(python: string, destination: string): void {
  // Debian's Python has no pip of its own.
  const has_pip = spawnSync(python, ['-m', 'pip', '--version'], { stdio: 'ignore' }).status === 0
  const folder = mkdtempSync(join(tmpdir(), 'runyard-pack-'))
  try {
    if (!has_pip) run(python, '-m', 'venv', folder)
    const wheel = ['-m', 'pip', 'wheel', '-q', '--no-deps', '--wheel-dir', destination, project]
    run(has_pip ? python : join(folder, 'bin/python'), ...wheel)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function run(command: string, ...args: string[]): void {
  const { status } = spawnSync(command, args, {
    // Standard output belongs to the paths.
    stdio: ['ignore', 2, 2],
    // What builds the wheel runs once.
    env: { ...process.env, PIP_NO_COMPILE: '1' },
  })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}`)
}
