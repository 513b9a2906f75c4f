/** `npm run check`: everything that can be said about the code without running it, side by side, in under a minute. */
import { spawn } from 'node:child_process'
import { globSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { setupPython } from './setup-python.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
const PYTHON_FOLDERS = globSync(
  ['python/{src,tests,examples}', 'examples/{cron,internal-tool,orchestrator}'],
  { cwd: root },
)
const RUFF = ['--config', 'python/pyproject.toml', '--quiet', ...PYTHON_FOLDERS, 'scripts']
const CHECKS: Record<string, string[]> = {
  types: ['tsc', '-p', '.'],
  'types of the pages': ['tsc', '-p', 'web'],
  'lint and format': ['biome', 'check', '--error-on-warnings', '.'],
  'generated files': ['node', 'scripts/generate.ts', '--check'],
  'import rules': ['node', 'scripts/import-rules.ts'],
  // Each of these also says where the oldest supported Python, 3.10, would not understand.
  'Python lint': ['ruff', 'check', ...RUFF],
  'Python format': ['ruff', 'format', '--check', ...RUFF],
  'Python types (mypy)': ['mypy', '--config-file', 'python/pyproject.toml', ...PYTHON_FOLDERS],
  'Python types (pyright)': ['pyright', '--project', 'python/pyproject.toml'],
}

const started = performance.now()
// Without it the checks of Python fail one by one; this line says why.
const python = setupPython()
if ('missing' in python) console.error(python.missing)
const results = await Promise.all(
  Object.entries(CHECKS).map(async ([name, [command = '', ...args]]) => {
    const child = spawn(command, args, {
      cwd: root,
      env: { ...process.env, PATH: `${root}node_modules/.bin:${root}.venv/bin:${process.env.PATH}` },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    child.stdout.on('data', (chunk) => (output += chunk))
    child.stderr.on('data', (chunk) => (output += chunk))
    const code = await new Promise<number | null>((resolve) => {
      child.once('error', (error) => (output += error.message))
      child.once('close', resolve)
    })
    return { name, output, ok: code === 0 }
  }),
)
for (const { name, output, ok } of results) {
  console.log(`${ok ? 'ok    ' : 'FAILED'} ${name}`)
  if (!ok) console.log(output)
}
console.log(`${((performance.now() - started) / 1000).toFixed(1)} s`)
process.exit(results.every((result) => result.ok) ? 0 : 1)
