import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { BUDGETS, type Budget } from './budgets.ts'
import { Holdings } from './holdings.ts'

const PAGE = new URL('../../../docs/self-hosting.md', import.meta.url)
const MiB = 1024 ** 2

const sizeOf = (amount: number | undefined, { unit }: Budget): string => {
  if (amount === undefined) return ''
  const is_bytes = unit.startsWith('bytes')
  return is_bytes ? `${amount / MiB} MiB` : amount.toLocaleString('en-US')
}
const rowOf = (budget: Budget): string => {
  const { name, unit, of, most, in_all, beyond } = budget
  const time = unit.replace(/^bytes /, '').replace(/^rows$/, 'kept')
  return `| ${[name, of, `${sizeOf(most, budget)} ${time}`, sizeOf(in_all, budget), beyond].join(' | ')} |`
}

test('the table of budgets for people is the one of the code', async () => {
  const page = await readFile(PAGE, 'utf8')
  const [, section = ''] = page.split('\n## All budgets\n')
  const rows =
    section
      .split('\n## ')[0]
      ?.split('\n')
      .filter((line) => line.startsWith('| ')) ?? []
  assert.deepEqual(rows.slice(1), Object.values(BUDGETS).map(rowOf))
})

test('nobody holds more than their own, nor more than a quarter of what others leave, and what is given back is there', () => {
  const held = new Holdings({ most: 3, in_all: 16 })
  assert.deepEqual(
    [held.take('a', 3), held.take('a'), held.take('b', 4), held.take('b', 3)],
    [true, false, false, true],
  )
  assert.deepEqual([held.take('c', 3), held.take('c', 2)], [false, true])
  held.giveBack('a', 3)
  assert.deepEqual([held.roomOf('a'), held.roomOf('b'), held.sum], [2.75, 0, 5])
})

test('a dozen addresses that take what they can leave room for the bodies of others', () => {
  const held = new Holdings(BUDGETS.keyless_bodies)
  for (let at = 0; at < 12; at += 1) while (held.take(`greedy ${at}`, 64 * 1024));
  assert.equal(held.take('other', 64 * 1024), true)
})
