/** What is generated for Python: the models from the contract, the version, and the synchronous tree from the asynchronous. */
import { spawn } from 'node:child_process'
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { pythonDocument } from './python-document.ts'
import { setupPython } from './setup-python.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
export const PYTHON_PACKAGE = 'python/src/runyard'
const ASYNC = `${PYTHON_PACKAGE}/_async`

/** Every generated file of the Python client by its path from the root. */
export async function generatePython(contract: string, version: string): Promise<Record<string, string>> {
  const setup = setupPython()
  if ('missing' in setup) throw new Error(setup.missing)
  const bin = dirname(setup.python)
  const folder = mkdtempSync(join(tmpdir(), 'runyard-generate-'))
  const target = join(folder, PYTHON_PACKAGE)
  try {
    mkdirSync(target, { recursive: true })
    writeFileSync(join(target, '_version.py'), `VERSION = "${version}"\n`)
    const [models] = await Promise.all([
      run(join(bin, 'datamodel-codegen'), MODEL_OPTIONS, JSON.stringify(pythonDocument(contract))),
      run(setup.python, ['scripts/unasync.py', ASYNC, join(target, '_sync')]),
    ])
    writeFileSync(join(target, '_models.py'), withoutNoise(models))
    const ruff = join(bin, 'ruff')
    const config = ['--config', 'python/pyproject.toml', '--quiet', '--no-cache', target]
    // Renamed modules sort differently; what the lint finds beyond its own fixes is said by the check.
    await run(ruff, ['check', '--fix', '--exit-zero', ...config])
    await run(ruff, ['format', ...config])
    const reference = await run(setup.python, [
      'scripts/python_api.py',
      PYTHON_PACKAGE,
      join(target, '_sync'),
    ])
    const files = globSync('**/*.py', { cwd: target })
    return {
      'python/api.md': reference,
      ...Object.fromEntries(
        files.map((file) => [`${PYTHON_PACKAGE}/${file}`, readFileSync(join(target, file), 'utf8')]),
      ),
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const MODEL_OPTIONS = [
  ...['--input-file-type', 'openapi', '--target-python-version', '3.10'],
  ...['--output-model-type', 'pydantic_v2.BaseModel', '--base-class', 'runyard._wire_model.WireModel'],
  ...['--output-datetime-class', 'datetime', '--enum-field-as-literal', 'all'],
  ...['--use-annotated', '--use-type-alias'],
  // The first that fits: an `Unknown…` is the last of its union.
  ...['--union-mode', 'left_to_right'],
  ...['--use-schema-description', '--use-field-description', '--use-single-line-docstring'],
  ...['--disable-timestamp', '--no-formatters'],
  ...['--custom-file-header', '# Generated from openapi.json; do not edit.'],
]

/** The order matters to unions of models; a string is the same whichever side took it. */
function withoutNoise(models: string): string {
  return models.replace(
    /Annotated\[(Literal\[[^\]]*\] \| str(?: \| None)?), Field\(union_mode='left_to_right'\)\]/g,
    '$1',
  )
}

async function run(command: string, args: string[], input = ''): Promise<string> {
  const child = spawn(command, args, { cwd: root, stdio: ['pipe', 'pipe', 'pipe'] })
  let output = ''
  let complaint = ''
  child.stdout.setEncoding('utf8').on('data', (chunk) => (output += chunk))
  child.stderr.setEncoding('utf8').on('data', (chunk) => (complaint += chunk))
  const ended = new Promise<number | null>((resolve, reject) =>
    child.once('error', reject).once('close', resolve),
  )
  // A program that reads nothing may have ended by now; how it ended says whether that was right.
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  if ((await ended) !== 0) throw new Error(`${command} ${args.join(' ')}\n${complaint}`)
  return output
}
