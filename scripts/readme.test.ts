import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { spawnRunyard, temporaryDirectory } from '../server/test/support/service.ts'

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
const directory = temporaryDirectory('readme')
let service: ReturnType<typeof spawnRunyard>

before(async () => {
  // As printed: the default port, the data in .runyard below the folder one stands in.
  service = spawnRunyard(['dev', '--json', '--sandbox', 'bubblewrap'], {}, directory)
  const { stdout } = service
  assert(stdout)
  const [line] = await Promise.race([
    once(createInterface({ input: stdout }), 'line'),
    once(service, 'exit').then(() => {
      throw new Error(service.log())
    }),
  ])
  assert.match(String(line), /127\.0\.0\.1:4200/)
})

after(async () => {
  service.kill('SIGTERM')
  await once(service, 'exit')
})

test('the curl examples work as printed', async () => {
  const script = /<!-- test: curl -->\n```sh\n([\s\S]*?\n)```\n/.exec(readme)?.[1]
  assert(script)
  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], {
    cwd: directory,
    timeout: 60_000,
  })
  assert.match(stdout, /"state":"QUEUED","at_capacity":false/)
  assert.match(stdout, /event: tool\.output\ndata: .*git version/)
  assert.match(stdout, /event: end\n/)
  assert.match(stdout, /"outcome":"handoff_execution"/)
  assert.match(stdout, /"state":"CANCELLED"/)
})
