import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ArtifactItem } from '@runyard/client'
import { agentOf, changesOf, pullOf, taskOf } from './row-facts.ts'

const created_at = '2026-01-01T00:00:00Z'
const diff = (turn: number, files_changed: number, additions = 0, deletions = 0): ArtifactItem => ({
  artifact_type: 'FILE',
  created_at,
  data: {
    ...{ artifact_uid: 'a', filename: 'p', filepath: 'p', mime_type: 'text/x-diff', size_bytes: 1 },
    diff: { turn, files_changed, additions, deletions },
  },
})
const pull = (url: string, status: 'open' | 'merged' | 'closed'): ArtifactItem => ({
  artifact_type: 'PULL_REQUEST',
  created_at,
  data: { url, status, branch: 'b' },
})

test('a row shows what was changed after the newest turn', () => {
  assert.equal(changesOf({ artifacts: [] }), undefined)
  const artifacts = [diff(1, 1, 5, 0), diff(3, 2, 12, 3), diff(2, 1, 7, 1)]
  const found = changesOf({ artifacts })
  assert.deepEqual([found?.additions, found?.deletions], [12, 3])
  assert.equal(changesOf({ artifacts: [diff(1, 1, 5), diff(2, 0)] }), undefined, 'Taken back.')
})

test('a row shows the pull request that is open, else the last', () => {
  assert.equal(pullOf({ artifacts: [] }), undefined)
  const [first, second] = ['https://h/acme/shop/pull/12', 'https://h/acme/shop/-/merge_requests/7']
  const named = (artifacts: ArtifactItem[]) => {
    const { name, status } = pullOf({ artifacts }) ?? {}
    return [name, status]
  }
  assert.deepEqual(named([pull(first, 'open'), pull(second, 'merged')]), ['#12', 'open'])
  assert.deepEqual(named([pull(first, 'closed'), pull(second, 'merged')]), ['!7', 'merged'])
  assert.deepEqual(named([pull('https://h/other', 'open')]), ['Pull request', 'open'])
})

test('a row says what is to be done, and nothing when nothing is', () => {
  const artifacts = [pull('https://h/acme/shop/pull/12', 'open')]
  const blocked = (waits_for: 'answer' | 'budget' | 'message') =>
    taskOf({ state: 'BLOCKED', status_message: { message: '', waits_for }, artifacts })
  assert.deepEqual(
    [blocked('answer'), blocked('budget'), blocked('message')],
    ['Answer', 'Raise the budget', undefined],
  )
  const approval = {
    approval_id: 'a',
    tool: 'bash',
    tool_call_id: 'c',
    rule: { tool: 'bash', action: 'ask' as const },
  }
  assert.equal(
    taskOf({ state: 'BLOCKED', status_message: { message: '', approval }, artifacts: [] }),
    'Allow or deny',
  )
  const failed = { message: '', error_code: 'environment_setup_failed' as const }
  assert.equal(taskOf({ state: 'FAILED', status_message: failed, artifacts: [] }), 'Fix the setup')
  assert.equal(taskOf({ state: 'SUCCEEDED', artifacts }), 'Merge')
  assert.equal(taskOf({ state: 'INPROGRESS', artifacts }), undefined)
  assert.equal(taskOf({ state: 'SUCCEEDED', artifacts: [pull('https://h/a/b/pull/1', 'merged')] }), undefined)
})

test('the agent is named without its provider', () => {
  assert.equal(agentOf({ agent_config: {}, resolved: { harness: 'oz', model_id: 'openai/gpt-5' } }), 'gpt-5')
  assert.equal(agentOf({ agent_config: { name: 'nightly' }, resolved: { harness: 'oz' } }), 'nightly')
  assert.equal(agentOf({ agent_config: { harness: { type: 'runbook' } } }), 'runbook')
})
