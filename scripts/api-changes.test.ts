import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryDirectory } from '../server/test/support/leftovers.ts'
import { findUnnamed, keepMeaning, RELEASED } from './api-changes.ts'
import { findBreakages, installOasdiff } from './oasdiff.ts'

interface Schema {
  properties: Record<string, { enum?: string[] }>
  required: string[]
}

test('a breaking change of the API needs an item in the changelog', { timeout: 300_000 }, async (t) => {
  const oasdiff = installOasdiff()
  if ('missing' in oasdiff) return t.skip(oasdiff.missing)
  const released = readFileSync(RELEASED, 'utf8')
  const changed = join(temporaryDirectory('api-changes'), 'openapi.json')
  const breakagesOf = (change: (schemas: Record<string, Schema>) => void) => {
    const description = JSON.parse(released) as { components: { schemas: Record<string, Schema> } }
    change(description.components.schemas)
    writeFileSync(changed, JSON.stringify(description))
    return findBreakages(oasdiff.program, RELEASED, changed)
  }
  const taken = await breakagesOf(({ RunItem, RunState, NewField }) => {
    assert(RunItem && RunState && !NewField)
    RunItem.properties.added = {}
    Object.assign(RunState, { enum: [...((RunState as { enum?: string[] }).enum ?? []), 'PAUSED'] })
  })
  assert.deepEqual(taken, [], 'Clients take fields and values that are new.')

  const breakages = await breakagesOf(({ RunAgentResponse }) => {
    assert(RunAgentResponse)
    delete RunAgentResponse.properties.run_id
    RunAgentResponse.required = RunAgentResponse.required.filter((name) => name !== 'run_id')
  })
  const unnamed = findUnnamed(
    breakages,
    '# Changelog\n\n## 0.2.0\n\n- New things.\n\n## 0.1.0\n\n- Breaking: `POST /agent/run`\n',
  )
  assert(unnamed.has('POST /agent/run') && unnamed.has('POST /agent/runs'), [...unnamed.keys()].join())
  assert.match(unnamed.get('POST /agent/run')?.join() ?? '', /removed the required property `run_id`/)
  const said = '## 0.2.0\n\n- Breaking: `POST /agent/run` and\n  `POST /agent/runs` answer\n  without it.\n'
  assert.deepEqual(
    [...findUnnamed(breakages, said).keys()].filter((operation) => /^POST \/agent\/runs?$/.test(operation)),
    [],
  )
})

test('the kept description has the meaning of the whole one', () => {
  const schema = { description: 'Words.', properties: { description: { type: 'string', example: 'x' } } }
  assert.deepEqual(keepMeaning(schema), { properties: { description: { type: 'string' } } })
})
