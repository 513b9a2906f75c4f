import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PermissionRule } from '@runyard/client'
import { readPermissions, writePermissions } from './permission-lines.ts'

test('rules are read as they were written, in their order', () => {
  const rules: PermissionRule[] = [
    { action: 'ask', tool: 'bash', pattern: 'curl https://*' },
    { action: 'deny', tool: 'edit' },
  ]
  assert.equal(writePermissions(rules), 'ask:bash:curl https://*\ndeny:edit')
  assert.deepEqual(readPermissions(`\n${writePermissions(rules)}\n`), rules)
})

test('a line that is no rule is not left out', () => {
  assert.equal(readPermissions('deny:edit\nforbid:bash'), null)
  assert.equal(readPermissions('ask'), null)
  assert.deepEqual(readPermissions(' '), [])
})

test('a rule that a line would not keep stays as it is', () => {
  for (const rule of [
    { action: 'deny', tool: 'bash', pattern: 'rm -r ' },
    { action: 'deny', tool: 'bash', pattern: 'rm\nallow:bash' },
    { action: 'ask', tool: 'server:tool' },
    { action: 'ask', tool: 'bash', pattern: 'git\r' },
  ] as const) {
    const text = writePermissions([rule, { action: 'ask', tool: 'edit' }])
    assert.deepEqual(readPermissions(text), [rule, { action: 'ask', tool: 'edit' }])
  }
  assert.equal(readPermissions('{"action": "deny"'), null)
})
