import assert from 'node:assert/strict'
import { test } from 'node:test'
import { temporaryDirectory } from '../test/support/service.ts'
import { startDev } from './main.ts'

test('variables that are empty are no address to the SDKs of models either', async () => {
  const names = ['OPENAI_BASE_URL', 'ANTHROPIC_BASE_URL', 'OPENAI_API_KEY']
  for (const name of names) process.env[name] = ' '
  const service = await startDev({ data_dir: temporaryDirectory('data'), port: 0, sandbox: 'host' })
  try {
    assert.equal(service.has_models, false)
    await Promise.all([import('@ai-sdk/openai'), import('@ai-sdk/anthropic')])
  } finally {
    await service.stop()
  }
})
