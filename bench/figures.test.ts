import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareTables } from './figures.ts'

const times = (...ratios: number[]) =>
  ['| what | median ms | beside |', '|---|---|---|']
    .concat(ratios.map((ratio, n) => `| row ${n} | 9.9 | ${ratio} × GET /healthz |`))
    .join('\n')
const rates = (...ratios: number[]) =>
  ['| what | a second | of GET /healthz | of inserts |', '|---|---|---|---|']
    .concat(ratios.map((ratio, n) => `| row ${n} | 1000 | ${ratio} | 0.5 |`))
    .join('\n')

test('a time that is worse by more than a tenth of its yardstick is found, and a better one is not', () => {
  assert.deepEqual(compareTables(times(2, 2, 2), times(2.1, 2.3, 1)), [
    'row 1: 2.3 in place of 2, worse by 15 %',
  ])
})

test('a rate that is lower by more than a tenth is found', () => {
  assert.deepEqual(compareTables(rates(0.5, 0.5, 0.5), rates(0.48, 0.4, 0.9)), [
    'row 1: 0.4 in place of 0.5, worse by 25 %',
  ])
})

test('what only one of the tables has, or has without a ratio, is left out', () => {
  assert.deepEqual(
    compareTables(times(2), `${times(2)}\n| new | 1.0 | 9 × itself |\n| row 9 | 1.0 | – |`),
    [],
  )
  assert.deepEqual(compareTables('', times(2)), [])
  assert.deepEqual(
    compareTables('| what | ms |\n|---|---|\n| a | 1 |', '| what | ms |\n|---|---|\n| a | 9 |'),
    [],
  )
})
