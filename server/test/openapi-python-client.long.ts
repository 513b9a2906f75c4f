/** What a generator makes of `openapi.json`: without a warning, with names that can be read, and it works. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startService, temporaryDirectory } from './support/service.ts'

const run = promisify(execFile)
const pathOf = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const BIN = pathOf('../../test/tools/.venv-openapi-client/bin')
const skip =
  !existsSync(join(BIN, 'openapi-python-client')) &&
  'openapi-python-client is not installed in test/tools (npm run test:long installs it)'

test('openapi-python-client makes a client that creates, lists and reads a run', {
  skip,
  timeout: 300_000,
}, async () => {
  const folder = temporaryDirectory('made')
  const made = join(folder, 'made')
  const env = { PATH: `${BIN}:${process.env.PATH}`, HOME: folder }
  const { stdout, stderr } = await run(
    join(BIN, 'openapi-python-client'),
    ['generate', '--path', pathOf('../../openapi.json'), '--output-path', made, '--meta', 'none'],
    { env, cwd: folder },
  )
  assert.doesNotMatch(stdout + stderr, /warning|unable|error/i)
  // A variant without a name is called after its place among the others.
  assert.deepEqual(
    readdirSync(join(made, 'models')).filter((name) => /_type_\d/.test(name)),
    [],
  )
  const service = await startService()
  try {
    const args = [pathOf('support/made-client.py'), folder, service.base_url, service.api_key]
    const { stdout } = await run(join(BIN, 'python'), args, { env })
    const { state, events, blocks } = JSON.parse(stdout) as Record<string, string[]>
    assert.match(String(state), /SUCCEEDED/)
    assert(events?.includes('ToolOutputEvent') && events.includes('RunStateEvent'), String(events))
    assert(blocks?.includes('ConversationActionBlock'), String(blocks))
  } finally {
    await service.stop()
  }
})
