import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sum } from './sum.js'

test('nothing sums to zero', () => assert.equal(sum([]), 0))

test('every number counts', () => assert.equal(sum([1, 2, 3]), 6))
