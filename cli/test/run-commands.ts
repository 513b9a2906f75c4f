/**
 * Runs the commands of the JSON list in its argument one after the other, as `runyard` does, in one process: starting one for
 * each would take most of the time. Each is announced on both outputs, and its exit code is said on standard output.
 */
import { main } from '../src/main.ts'

process.setMaxListeners(0)
process.stdout.setMaxListeners(0)
for (const args of JSON.parse(process.argv[2] ?? '[]') as string[][]) {
  const title = `\n=== ${args.join(' ')}\n`
  process.stdout.write(title)
  process.stderr.write(title)
  process.exitCode = undefined
  await main(['node', 'runyard', ...args])
  process.stdout.write(`\n=== ended with ${process.exitCode ?? 0}\n`)
}
process.exitCode = 0
