import assert from 'node:assert/strict'
import { test } from 'node:test'
import { introduce } from './acp-prompt.ts'

test('an agent that knows nothing yet is told what the service says of the workspace, and none is told it again', () => {
  const execution = {
    run: { run_id: 'r', attempt: 1, cwd: '/workspace', prompt: '', config: {} },
    context: [],
    workspace_notes: ['The clone in /workspace/site is shallow.'],
    mask: (text: string) => text,
  }
  const work = { before: [], partial: [], notes: [] }
  assert.deepEqual(introduce(execution, work, true), [
    '[From the service, not the user: The clone in /workspace/site is shallow.]',
  ])
  assert.deepEqual(introduce(execution, work, false), [])
})
