import assert from 'node:assert/strict'
import test from 'node:test'
import { Runyard, RunyardError } from './index.ts'

test('the base URL may hold the path of the API, and a prefix', () => {
  const baseUrl = (baseURL: string) => new Runyard({ apiKey: 'k', baseURL }).baseURL
  assert.equal(baseUrl('http://localhost:4200'), 'http://localhost:4200/api/v1')
  assert.equal(baseUrl('http://localhost:4200/api/v1/'), 'http://localhost:4200/api/v1')
  assert.equal(baseUrl('https://example.test/runyard/'), 'https://example.test/runyard/api/v1')
  for (const wrong of ['localhost:4200', 'file:///etc', 'https://a:b@example.test', 'nonsense']) {
    assert.throws(() => baseUrl(wrong), RunyardError, wrong)
  }
})

test('a key that fetch would refuse never shows up in an error', () => {
  assert.throws(
    () => new Runyard({ apiKey: 'ry_sécret' }),
    (error) => !String(error).includes('cret'),
  )
  assert.throws(() => new Runyard({ apiKey: ' ' }), /RUNYARD_API_KEY/)
})
