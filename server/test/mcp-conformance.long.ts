import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { missingServers } from './support/mcp-servers.ts'
import { temporaryDirectory } from './support/service.ts'

const run = promisify(execFile)
const pathOf = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const SUITE = pathOf('../../test/tools/node_modules/@modelcontextprotocol/conformance/dist/index.js')
const CLIENT = pathOf('support/conformance-client.ts')

// Elicitation and OAuth are not offered (docs/tool-servers.md); these are all the others for clients.
for (const scenario of ['initialize', 'tools_call', 'sse-retry'])
  test(`the protocol's own suite passes: ${scenario}`, {
    skip: missingServers(),
    timeout: 60_000,
  }, async () => {
    const args = ['client', '--scenario', scenario, '--output-dir', temporaryDirectory('conformance')]
    const { stdout, stderr } = await run(process.execPath, [
      ...[SUITE, ...args],
      ...['--command', `'${process.execPath}' '${CLIENT}'`],
    ])
    assert.match(stdout + stderr, /OVERALL: PASSED/)
  })
