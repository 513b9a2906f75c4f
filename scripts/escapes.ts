/**
 * `npm run test:escapes [PREFIX …]`: tries to break out of every sandbox and around every refusal, and prints a table of
 * what held. A prefix runs the probes whose ids begin so. `--open` tries them where nothing protects, where each must
 * get through: a probe that does not cannot see a break.
 */
import { run } from 'node:test'
import { fileURLToPath } from 'node:url'
import { PROBES, readUncovered, VARIABLES } from '../server/test/escapes/escapes.ts'
import { SUBJECTS } from '../server/test/escapes/probe.ts'

type Result = 'held' | 'broken' | 'not covered' | 'skipped' | 'gets through' | 'blind'

const root = fileURLToPath(new URL('../', import.meta.url))
process.env.PATH = `${root}node_modules/.bin:${process.env.PATH}`
const args = process.argv.slice(2)
const only = args.filter((arg) => !arg.startsWith('--'))
const open = args.includes('--open')
process.env[VARIABLES.all] = '1'
if (only.length > 0) process.env[VARIABLES.only] = only.join(',')

const results = new Map<string, Map<string, Result>>()
const notes: string[] = []
const skipped = new Set<string>()
const stream = run({
  files: (open ? ['open.ts'] : SUBJECTS.map((subject) => `${subject}.test.ts`)).map(
    (file) => `${root}server/test/escapes/${file}`,
  ),
  // Probes that measure must not measure each other.
  concurrency: 1,
  timeout: 3_600_000,
  execArgv: ['--test-force-exit'],
})
/** A probe's test is named `id (subject)`. */
const record = (name: string, result: Result, milliseconds: number): void => {
  const [, id = name, subject = ''] = /^(\S+) \((\S+)\)$/.exec(name) ?? []
  if (!results.has(id)) results.set(id, new Map())
  results.get(id)?.set(subject, result)
  const seconds = (milliseconds / 1000).toFixed(1)
  process.stdout.write(`${result.padEnd(12)} ${seconds.padStart(5)} s  ${subject.padEnd(16)} ${id}\n`)
}
stream.on('test:pass', ({ name, skip, details }) => {
  if (details.type === 'suite') {
    if (skip !== undefined) skipped.add(`${name}: ${skip}`)
    return
  }
  const uncovered = typeof skip === 'string' && skip.startsWith('not covered')
  const result = open ? 'gets through' : 'held'
  record(name, skip === undefined ? result : uncovered ? 'not covered' : 'skipped', details.duration_ms)
})
stream.on('test:fail', ({ name, details }) => {
  const { cause } = details.error
  if (details.type === 'suite') {
    // One that failed because a test in it did is not a failure of its own.
    if (!('failureType' in details.error && details.error.failureType === 'subtestsFailed'))
      notes.push(`${name}: ${cause}`)
    return
  }
  record(name, open ? 'blind' : 'broken', details.duration_ms)
  const note = `${name}: ${cause instanceof Error ? cause.message : cause}`
  notes.push(note)
  console.log(`    ${note}`)
})
stream.on('test:stderr', ({ message }) => process.stderr.write(message))
stream.resume()
await new Promise((resolve) => stream.once('end', resolve))

const subjects: readonly string[] = open ? ['open'] : SUBJECTS
const width = Math.max(...PROBES.map(({ id }) => id.length)) + 2
console.log(`\n${'id'.padEnd(width)}${subjects.map((subject) => subject.padEnd(18)).join('')}`)
for (const { id } of PROBES) {
  const row = results.get(id)
  if (row)
    console.log(id.padEnd(width) + subjects.map((subject) => (row.get(subject) ?? '-').padEnd(18)).join(''))
}
for (const note of [...skipped, ...notes]) console.log(`\n${note}`)
// What is covered by now should not be excused any longer.
for (const { id, subjects: excused } of open ? [] : readUncovered())
  for (const subject of excused)
    if (results.get(id)?.get(subject) === 'held')
      console.log(`\n${id} (${subject}) is named as not covered, and held.`)
const all = [...results.values()].flatMap((row) => [...row.values()])
const count = (result: Result) => all.filter((one) => one === result).length
const kinds: Result[] = open
  ? ['gets through', 'blind', 'skipped']
  : ['held', 'broken', 'not covered', 'skipped']
const line = kinds.map((result) => `${count(result)} ${result}`)
console.log(`\n${results.size} probes: ${line.join(', ')}`)
process.exit(count('broken') + count('blind') === 0 && all.length > 0 && notes.length === 0 ? 0 : 1)
