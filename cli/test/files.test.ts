/** `runyard files`: the workspace of a run, listed, printed and saved. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Home } from './runyard.ts'

const home = new Home()
const MAKE = String.raw`mkdir src; echo one > src/a.txt; ln -s src/a.txt link; printf 'a\0b' > program; chmod 755 program
printf 'x\033]0;title\007\033[31mred\033[0m\n' > escapes.txt; echo name > "$(printf 'n\033[2Jame')"`
let run_id: string

before(async () => {
  await home.serve()
  const script = (text: string): string => `\`\`\`sh\n${text}\n\`\`\``
  const made = await home.run(['run', script(MAKE), '-o', 'json'])
  run_id = JSON.parse(made.stdout).run_id
  const next = await home.run(['message', run_id, script('echo two > src/a.txt'), '--wait'])
  assert.equal(next.code, 0, next.stderr)
})
after(() => home.remove())

const files = (...args: string[]) => home.run(['files', run_id, ...args])

test('a folder is listed, and a file is printed, as the turn left it that is asked for', async () => {
  const { stdout, stderr, code } = await files()
  assert.equal(code, 0, stderr)
  assert.match(stdout, /^ +artifacts\/$/m)
  assert.match(stdout, /^ +link -> src\/a\.txt$/m)
  assert.match(stdout, /^ +3 B {2}program$/m)
  assert.match(stderr, /^As turn 2 left it\. --turn has others: 1\.$/m)
  assert.equal((await files('src/a.txt')).stdout, 'two\n')
  assert.equal((await files('/workspace/src/a.txt', '--turn', '1')).stdout, 'one\n')
  const listed = JSON.parse((await files('src', '-o', 'json')).stdout)
  assert.deepEqual([listed.turn, listed.files.length, listed.files[0].path], [2, 1, 'src/a.txt'])
  assert.equal(JSON.parse((await files('src', '-o', 'ndjson')).stdout).name, 'a.txt')
})

test('what an agent made reaches a terminal as text alone', async () => {
  for (const args of [[], ['escapes.txt']]) {
    const { stdout, code } = await home.runOnTerminal(['files', run_id, ...args])
    assert.equal(code, 0)
    assert.match(stdout, args.length > 0 ? /xred/ : /name/)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are what is looked for.
    assert.doesNotMatch(stdout.replaceAll(/\u001b\[\d+m/g, ''), /[\u0000-\u0008\u000b\u000c\u000e-\u001f]/)
  }
  const binary = await home.runOnTerminal(['files', run_id, 'program'])
  assert.match(binary.stdout, /This is not a text file\.[\s\S]*--file saves it/)
  assert.equal(binary.code, 1)
})

test('a file is saved whole, and replaces none without --force', async () => {
  const saved = await files('program', '--file')
  assert.match(saved.stdout, /^program \(3 B\)$/m, saved.stderr)
  assert.deepEqual(readFileSync(join(home.directory, 'program')), Buffer.from('a\0b'))
  const again = await files('src/a.txt', '--file', 'program')
  assert.match(again.stderr, /program exists already/)
  assert.equal((await files('src/a.txt', '--file', 'program', '--force')).code, 0)
  assert.equal(readFileSync(join(home.directory, 'program'), 'utf8'), 'two\n')
  assert.equal((await files('program', '--file', '-')).stdout, 'a\0b')
})

test('what is not there, or no file, is said in a line', async () => {
  for (const [args, said] of [
    [['nothing'], /There is no nothing in the workspace as turn 2 left it/],
    [['../x'], /path: must not lead up/],
    [['--turn', '9'], /No turn 9 of this run has ended.*can be listed: 1, 2/],
    [['src', '--file', 'out'], /src is a folder, not a file/],
    [['link', '--file', 'out'], /link is a link to src\/a\.txt/],
  ] as const) {
    const { stderr, code } = await files(...args)
    assert.match(stderr, said)
    assert.notEqual(code, 0)
  }
  assert(!existsSync(join(home.directory, 'out')))
})
