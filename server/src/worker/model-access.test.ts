import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { findProviders, planModels } from './model-access.ts'

const ALL = { openai: { api_key: 'a' }, anthropic: { api_key: 'b' }, google: { api_key: 'c' } }

describe('models for commands', () => {
  test('are those of providers that have what they need', () => {
    assert.deepEqual(findProviders({}), {})
    assert.deepEqual(
      findProviders({
        openai: { base_url: 'http://ollama:11434/v1' },
        anthropic: { base_url: 'http://proxy/v1' },
        google: { api_key: 'c' },
        endpoints: { house: { base_url: 'http://house/v1', api_key: 'd' } },
      }),
      {
        openai: { api: 'openai', api_key: null, base_url: 'http://ollama:11434/v1' },
        google: {
          ...{ api: 'google', api_key: 'c' },
          base_url: 'https://generativelanguage.googleapis.com/v1beta',
        },
        house: { api: 'openai', api_key: 'd', base_url: 'http://house/v1' },
      },
    )
  })

  test('are planned where the environment asks, each time with another token', () => {
    assert.equal(planModels({}, {}, findProviders(ALL)), null)
    assert.equal(planModels({ models: false }, {}, findProviders(ALL)), null)
    const plans = [1, 2].map(() => planModels({ models: true }, {}, findProviders(ALL)))
    const [one, two] = plans.map((plan) => plan?.rules.token ?? '')
    for (const token of [one, two]) assert.match(token ?? '', /^rym_[A-Za-z0-9]{43}$/)
    assert.notEqual(one, two)
    assert.deepEqual(plans[0]?.env, {
      ...{ OPENAI_BASE_URL: 'http://127.0.0.1:3128/model/openai/v1', OPENAI_API_KEY: one },
      ...{ ANTHROPIC_BASE_URL: 'http://127.0.0.1:3128/model/anthropic', ANTHROPIC_API_KEY: one },
      ...{ GOOGLE_GEMINI_BASE_URL: 'http://127.0.0.1:3128/model/google', GEMINI_API_KEY: one },
    })
  })

  test('leave alone what the environment sets itself', () => {
    const own = { OPENAI_API_KEY: 'mine', GOOGLE_GEMINI_BASE_URL: 'https://mine.example' }
    const plan = planModels({ models: true }, own, findProviders(ALL))
    assert.deepEqual(Object.keys(plan?.env ?? {}), ['ANTHROPIC_BASE_URL', 'ANTHROPIC_API_KEY'])
    assert.deepEqual(Object.keys(plan?.gate.base_urls ?? {}), ['anthropic'])
  })

  test('are for the agent alone where the environment asks for none', () => {
    const endpoints = { house: { base_url: 'http://house/v1' } }
    const plan = planModels({}, { OPENAI_API_KEY: 'mine' }, findProviders({ ...ALL, endpoints }), true)
    assert.deepEqual(plan?.env, {})
    assert.deepEqual(plan?.gate.base_urls, {
      anthropic: 'http://127.0.0.1:3128/model/anthropic',
      google: 'http://127.0.0.1:3128/model/google',
      house: 'http://127.0.0.1:3128/model/house/v1',
    })
    assert.equal(plan?.gate.token, plan?.rules.token)
  })
})
