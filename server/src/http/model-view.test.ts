import assert from 'node:assert/strict'
import { test } from 'node:test'
import { viewModel } from './model-view.ts'

test('a model says who made it and whether it takes images, by its list or by its name', () => {
  const view = (model_id: string, more = {}) => {
    const { provider, vision_supported } = viewModel({ model_id, provider: 'x', ...more })
    return [provider, vision_supported]
  }
  assert.deepEqual(view('anthropic/claude-sonnet-4-5'), ['ANTHROPIC', true])
  assert.deepEqual(view('bedrock/eu.anthropic.claude-sonnet-4-6'), ['ANTHROPIC', true])
  assert.deepEqual(view('openrouter/google/gemini-3-pro'), ['GOOGLE', true])
  assert.deepEqual(view('openai/o3-mini'), ['OPENAI', false])
  assert.deepEqual(view('openai/scripted'), ['OPENAI', false])
  assert.deepEqual(view('groq/openai/gpt-oss-120b'), ['OPENAI', false])
  assert.deepEqual(view('local/qwen2.5-vl'), ['UNKNOWN', true])
  assert.deepEqual(view('mistral/mistral-large', { sees_images: true }), ['UNKNOWN', true])
  assert.deepEqual(view('openai/gpt-4o', { sees_images: false }), ['OPENAI', false])
  assert.deepEqual(viewModel({ model_id: 'local/qwen3', provider: 'local', context_window: 8 }), {
    ...{ id: 'local/qwen3', display_name: 'qwen3', provider: 'UNKNOWN', vision_supported: false },
    context_window: 8,
  })
})
