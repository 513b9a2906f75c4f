/** `npm run check`: everything that can be said about the code without running it, side by side, in under a minute. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../', import.meta.url))
const CHECKS: Record<string, string[]> = {
  types: ['tsc', '-p', '.'],
  'types of the pages': ['tsc', '-p', 'web'],
  'lint and format': ['biome', 'check', '--error-on-warnings', '.'],
  'generated files': ['node', 'scripts/generate.ts', '--check'],
  'import rules': ['node', 'scripts/import-rules.ts'],
}

const started = performance.now()
const results = await Promise.all(
  Object.entries(CHECKS).map(async ([name, [command = '', ...args]]) => {
    const child = spawn(command, args, {
      cwd: root,
      env: { ...process.env, PATH: `${root}node_modules/.bin:${process.env.PATH}` },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    child.stdout.on('data', (chunk) => (output += chunk))
    child.stderr.on('data', (chunk) => (output += chunk))
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
    return { name, output, ok: code === 0 }
  }),
)
for (const { name, output, ok } of results) {
  console.log(`${ok ? 'ok    ' : 'FAILED'} ${name}`)
  if (!ok) console.log(output)
}
console.log(`${((performance.now() - started) / 1000).toFixed(1)} s`)
process.exit(results.every((result) => result.ok) ? 0 : 1)
