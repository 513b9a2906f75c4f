/** The walk-through in docs/architecture.md: its tool works, its test passes and can fail, as they are on the page. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { TOOLS } from '../server/src/harness/tools/toolset.ts'

const root = new URL('../', import.meta.url)
const beside = new URL('server/src/harness/tools/', root)
const directory = mkdtempSync(join(tmpdir(), 'runyard-first-change-'))
after(() => rmSync(directory, { recursive: true, force: true }))

const page = readFileSync(new URL('docs/architecture.md', root), 'utf8')
const blocks = new Map(
  Array.from(page.matchAll(/<!-- test: (.+) -->\n```ts\n([\s\S]*?)```\n/g), (match) => [
    match[1] ?? '',
    match[2] ?? '',
  ]),
)

/** What the files import is where it would be beside the other tools; packages are those of the server. */
function put(name: string, text: string): void {
  const imports = text
    .replace(/(from ')(\.[^']+)'/g, (line, from: string, path: string) =>
      blocks.has(path.slice(2)) ? line : `${from}${new URL(path, beside).href}'`,
    )
    .replace("from 'zod'", `from '${import.meta.resolve('zod')}'`)
  writeFileSync(join(directory, name), imports)
}

function runTest(): string {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const args = ['--test', '--test-reporter=tap', join(directory, 'count-lines.test.ts')]
  return spawnSync(process.execPath, args, { encoding: 'utf8', env }).stdout
}

test('the tool of the walk-through passes its test, and not when it is broken', () => {
  assert.deepEqual([...blocks.keys()], ['count-lines.ts', 'count-lines.test.ts'])
  for (const [name, text] of blocks) put(name, text)
  assert.match(runTest(), /^# pass 2\n# fail 0$/m)
  put('count-lines.ts', (blocks.get('count-lines.ts') ?? '').replace('is_open ? ends + 1 : ends', 'ends'))
  assert.match(runTest(), /^# pass 1\n# fail 1$/m)
})

test('the page about tools names each tool', () => {
  const text = readFileSync(new URL('docs/agent-tools.md', root), 'utf8')
  const [table = ''] = text.split('\n## ')
  for (const name of TOOLS.keys()) assert(table.includes(`\`${name}\``), name)
})
