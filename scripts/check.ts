/**
 * `npm run check`: everything that can be said about the code without running it, side by side, in about a minute on two cores; in
 * less when little has changed since the last time.
 */
import { spawn } from 'node:child_process'
import { globSync, mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { setupPython } from './setup-python.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
const PYTHON_FOLDERS = globSync(
  ['python/{src,tests,examples}', 'examples/{cron,internal-tool,orchestrator}'],
  { cwd: root },
)
const RUFF = ['--config', 'python/pyproject.toml', '--quiet', ...PYTHON_FOLDERS, 'scripts']
const KEPT = 'node_modules/.cache/runyard-check'
/** What the compiler has found out stands for the next time, until a file that it follows from changes. */
const tsc = (project: string, name: string): string[] => [
  ...['tsc', '-p', project, '--incremental'],
  ...['--tsBuildInfoFile', `${KEPT}/${name}.tsbuildinfo`],
]
const CHECKS: Record<string, string[]> = {
  types: tsc('.', 'sources'),
  'types of the pages': tsc('web', 'pages'),
  'lint and format': ['biome', 'check', '--error-on-warnings', '.'],
  'generated files': ['node', 'scripts/generate.ts', '--check'],
  'import rules': ['node', 'scripts/import-rules.ts'],
  'changes of the API': ['node', 'scripts/api-changes.ts'],
  // Here too, so that a moved line is seen before half an hour of tests.
  'deliberate faults': ['node', '--test', 'scripts/breakages.test.ts'],
}
const PYTHON_CHECKS: Record<string, string[]> = {
  // Each of these also says where the oldest supported Python, 3.10, would not understand.
  'Python lint': ['ruff', 'check', ...RUFF],
  'Python format': ['ruff', 'format', '--check', ...RUFF],
  'Python types (mypy)': ['mypy', '--config-file', 'python/pyproject.toml', ...PYTHON_FOLDERS],
  'Python types (pyright)': ['pyright', '--project', 'python/pyproject.toml'],
}

const started = performance.now()
mkdirSync(`${root}${KEPT}`, { recursive: true })
const begun = Object.entries(CHECKS).map(check)
// While those are at work. Without it the checks of Python fail one by one; this line says why.
const python = setupPython()
if ('missing' in python) console.error(python.missing)
const results = await Promise.all([...begun, ...Object.entries(PYTHON_CHECKS).map(check)])
for (const { name, output, ok } of results) {
  console.log(`${ok ? 'ok    ' : 'FAILED'} ${name}`)
  if (!ok) console.log(output)
}
console.log(`${((performance.now() - started) / 1000).toFixed(1)} s`)
process.exit(results.every((result) => result.ok) ? 0 : 1)

async function check([name, [command = '', ...args]]: [string, string[]]) {
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
}
