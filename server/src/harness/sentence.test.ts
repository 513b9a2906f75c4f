import assert from 'node:assert/strict'
import { test } from 'node:test'
import { endSentence } from './sentence.ts'

test('somebody else’s words get the end that they lack, and no second one', () => {
  assert.equal(endSentence('slow down'), 'slow down.')
  assert.equal(endSentence('the model is {"id": 1}'), 'the model is {"id": 1}.')
  assert.equal(endSentence('it failed:'), 'it failed.')
  for (const whole of ['Slow down.', 'Really?', 'No!', 'and so on…', 'It says "no."', '(See the docs.)'])
    assert.equal(endSentence(whole), whole)
})
