import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { AmbientAgentConfig } from '../contract/agent-config.ts'
import { RunAgentRequest, RunFollowupRequest } from '../contract/run-request.ts'

const PAGE = new URL('../../../docs/request-fields.md', import.meta.url)

test('the documentation says what becomes of each field', () => {
  const tables = readFileSync(PAGE, 'utf8')
    .split(/^## /m)
    .filter((section) => /^`(config|POST \/agent\/runs(\/\{run_id\}\/followups)?)`\n/.test(section))
  const documented = tables.map((table) => [...table.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name))
  const known = [RunAgentRequest, AmbientAgentConfig, RunFollowupRequest].map((schema) =>
    Object.keys(schema.shape),
  )
  assert.deepEqual(documented, known)
})
