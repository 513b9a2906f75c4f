/** `npm run dev`: the service, started again when a source changes, and the page by Vite, which puts changes in at once. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../', import.meta.url))
const children = [
  spawn(process.execPath, ['--watch', 'cli/bin/runyard.js', 'dev', ...process.argv.slice(2)], {
    cwd: root,
    stdio: 'inherit',
  }),
  spawn(process.execPath, ['node_modules/vite/bin/vite.js', 'web', '--clearScreen', 'false'], {
    cwd: root,
    stdio: 'inherit',
  }),
]
// One without the other is of no use. A terminal sends its Ctrl-C to all three.
for (const child of children) {
  child.once('exit', (code) => {
    process.exitCode ??= code ?? 1
    for (const other of children) other.kill()
  })
}
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {})
