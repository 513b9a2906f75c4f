import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StatementNames } from './statement-names.ts'

const ask = (names: StatementNames, text: string, times: number) =>
  Array.from({ length: times }, () => names.find(text)).at(-1)

test('a text that comes again gets a name, the same in every process', () => {
  const names = new StatementNames()
  assert.equal(ask(names, 'select $1', 2), undefined)
  const name = names.find('select $1') ?? ''
  assert.match(name, /^ry_[0-9a-f]{37}$/)
  assert.equal(names.find('select $1'), name)
  assert.equal(ask(new StatementNames(), 'select $1', 3), name)
  assert.notEqual(ask(names, 'select $2', 3), name)
})

test('however many texts there are, few have names and few are counted', () => {
  const names = new StatementNames()
  for (let i = 0; i < 10_000; i++) names.find(`once ${i}`)
  const named = Array.from({ length: 500 }, (_, i) => ask(names, `again ${i}`, 3)).filter(Boolean)
  assert.equal(named.length, 200)
  assert(names.find('again 0'))
})
