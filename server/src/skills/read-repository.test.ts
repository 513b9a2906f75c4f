import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { watchBlocks } from '../../test/support/loop-guard.ts'
import { openTestSandbox } from '../../test/support/sandbox.ts'
import { collectExec, type Sandbox } from '../sandbox/sandbox.ts'
import { workFor } from '../watchdog/event-loop.ts'
import { readRepository } from './read-repository.ts'

let sandbox: Sandbox
before(async () => {
  sandbox = await openTestSandbox()
})
after(() => sandbox.destroy())

test('a repository whose skills are slow to read blocks nobody', async () => {
  // Of 16 KiB each: the shapes that cost the parser most, and one skill as people write them.
  const shapes = ['a,', '[', 'a:\\n', '*a ', '{a: b,']
  const make = `mkdir -p r/.agents/skills && cd r/.agents/skills && git init -q ../../ && node -e '
    const { mkdirSync, writeFileSync } = require("node:fs")
    const write = (name, front) => { mkdirSync(name); writeFileSync(name + "/SKILL.md", "---\\n" + front + "\\n---\\n" + name) }
    ${JSON.stringify(shapes)}.forEach((shape, at) => { for (let n = 0; n < 40; n++)
      write("s" + at + "-" + n, ("x: {" + shape.repeat(8000)).slice(0, 16000) + "\\n" + n) })
    write("a-good-one", "description: Reviews.")' && git add -A && git -c user.name=a -c user.email=a@b commit -qm a && git rev-parse HEAD`
  const made = await collectExec(
    sandbox.exec({ command: make, cwd: '/workspace', env: {}, timeout_ms: 60_000 }),
  )
  assert.equal(made.exit.code, 0, made.stderr.toString())
  const commit = made.stdout.toString().trim()
  const checkout = { owner: 'o', repo: 'r', host: null, directory: 'r', commit }
  const watch = watchBlocks()
  const read = () => readRepository(sandbox, checkout, [], new AbortController().signal)
  const { skills, malformed } = await workFor({ kind: 'skills', environment_id: 'e' }, read).finally(
    watch.stop,
  )
  assert.deepEqual(watch.named(), [])
  assert.deepEqual(
    skills.map(({ name, description }) => [name, description]),
    [['a-good-one', 'Reviews.']],
  )
  assert.equal(malformed.length, 40 * shapes.length)
})
