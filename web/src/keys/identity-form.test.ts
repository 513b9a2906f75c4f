import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AgentIdentity } from '@runyard/client'
import { formOf, requestOf } from './identity-form.ts'

const IDENTITY: AgentIdentity = {
  uid: '0197d0f2-0000-7000-8000-000000000001',
  name: 'reviewer',
  available: true,
  prompt: 'Review it.',
  harness: { type: 'oz', reasoning_level: 'high' },
  skills: ['owner/repo:review', 'owner/repo:style'],
  agent_type: 'CUSTOM',
  credential_strategy: 'EXECUTOR',
  on_behalf_of_enabled: false,
  default_runner_uid: '',
  secrets: [],
  memory: { attached_stores: [], auto_memory: { enabled: false } },
  creator: { uid: '0197d0f2-0000-7000-8000-000000000002', type: 'user' },
  created_at: '2026-03-09T10:00:00.000Z',
  updated_at: '2026-03-09T10:00:00.000Z',
}

test('a form that was not touched keeps what it does not show of the harness', () => {
  const request = requestOf(formOf(IDENTITY), IDENTITY)
  assert.equal('harness' in request, false)
  assert.deepEqual(request.skills, IDENTITY.skills)
  assert.equal(request.prompt, 'Review it.')
})

test('another harness takes the place of both fields that name one, and none is none', () => {
  const { harness: _, ...others } = IDENTITY
  const named: AgentIdentity = { ...others, base_harness: 'codex' }
  const form = formOf(named)
  assert.equal(form.harness, 'codex')
  const { base_harness, harness } = requestOf({ ...form, harness: 'claude' }, named)
  assert.deepEqual({ base_harness, harness }, { base_harness: '', harness: { type: 'claude' } })
  assert.deepEqual(requestOf({ ...form, harness: '' }, named).harness, {})
})

test('what is emptied is sent as empty, since what is left out would stay', () => {
  const request = requestOf({ ...formOf(IDENTITY), prompt: '', skills: ' \n', name: ' reviewer ' }, IDENTITY)
  assert.equal(request.prompt, '')
  assert.deepEqual(request.skills, [])
  assert.equal(request.name, 'reviewer')
})
