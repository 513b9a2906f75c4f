import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { openTestSandbox } from '../../../test/support/sandbox.ts'
import { TestTurn } from '../../../test/support/turn.ts'
import type { Sandbox } from '../../sandbox/sandbox.ts'
import { BackgroundCommands } from '../background-commands.ts'
import { glob } from './glob.ts'

let sandbox: Sandbox
let turn: TestTurn
const background = new BackgroundCommands()
before(async () => {
  sandbox = await openTestSandbox()
  turn = new TestTurn({ sandbox })
  const { code } = await sandbox.exec({
    command: `mkdir -p 'web/app/(auth)/login' 'web/app/[id]' 'web/app/shop/[[...slug]]' web/app/i web/dist web/.config 'web/a (b' web/src &&
      cd web && git init -q . && printf 'dist\\n.env\\n' > .gitignore && touch .env dist/out.js .config/x.json 'a (b/c.ts' src/a.ts src/b.tsx src/c.js &&
      touch 'app/(auth)/login/page.tsx' 'app/(auth)/layout.tsx' 'app/[id]/page.tsx' 'app/shop/[[...slug]]/page.tsx' app/i/page.tsx`,
  }).exit
  assert.equal(code, 0)
})
after(() => sandbox.destroy())
after(() => background.close())

const find = (pattern: string, path = 'web') =>
  glob.run({ pattern, path }, { turn, tool_call_id: 'call-1', background })

test('names of folders that look like patterns are found as they are', async () => {
  for (const [pattern, files] of [
    ['app/(auth)/**', ['app/(auth)/layout.tsx', 'app/(auth)/login/page.tsx']],
    ['**/(auth)/*.tsx', ['app/(auth)/layout.tsx']],
    ['app/\\(auth\\)/*', ['app/(auth)/layout.tsx']],
    ['app/(auth)/login/page.tsx', ['app/(auth)/login/page.tsx']],
    ['app/[[]id]/*', ['app/[id]/page.tsx']],
    ['app/\\[id\\]/*', ['app/[id]/page.tsx']],
    ['app/[id]/*', ['app/[id]/page.tsx', 'app/i/page.tsx']],
    ['app/shop/[[...slug]]/page.tsx', ['app/shop/[[...slug]]/page.tsx']],
    ['a (b/*', ['a (b/c.ts']],
    ['src/(a|c).*', ['src/a.ts', 'src/c.js']],
    ['src/{a,b}.{ts,tsx}', ['src/a.ts', 'src/b.tsx']],
  ] as const)
    assert.equal((await find(pattern)).output, files.join('\n'), pattern)
})

test('patterns may be absolute, or begin and end as paths do', async () => {
  for (const [pattern, files, path] of [
    ['./src/*.ts', ['src/a.ts']],
    ['src/', ['src/a.ts', 'src/b.tsx', 'src/c.js']],
    ['src//*.ts', ['src/a.ts']],
    ['/workspace/web/src/*.ts', ['/workspace/web/src/a.ts']],
    ['/workspace/web/src/a.ts', ['/workspace/web/src/a.ts']],
    ['/workspace/web/**/login/', ['/workspace/web/app/(auth)/login/page.tsx']],
    ['../src/*.js', ['../src/c.js'], 'web/app'],
    [' src/*.js\n', ['src/c.js']],
  ] as const)
    assert.equal((await find(pattern, path)).output, files.join('\n'), pattern)
})

test('what is hidden or ignored is found where the pattern names it', async () => {
  const note = '[git ignores these, or they are below .git or node_modules]'
  for (const [pattern, lines] of [
    ['.config/*', ['.config/x.json']],
    ['**/*.json', ['.config/x.json']],
    ['.env*', ['.env', note]],
    ['**/.env', ['.env', note]],
    ['dist/**', ['dist/out.js', note]],
    ['.git/HEAD', ['.git/HEAD']],
    ['**/out.js', ['No file matches **/out.js.']],
    ['gone/*.ts', ['No file matches gone/*.ts. (/workspace/web/gone does not exist.)']],
  ] as const)
    assert.equal((await find(pattern)).output, lines.join('\n'), pattern)
  const missing = await find('*', 'gone')
  assert.deepEqual([missing.is_error, missing.output], [true, 'gone does not exist.'])
  assert.match((await find('*', 'web/src/a.ts')).output, /is a file/)
})
