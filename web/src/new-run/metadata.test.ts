import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readMetadata, writeMetadata } from './metadata.ts'

test('metadata is read as it was written, whatever its values hold', () => {
  const metadata = { ticket: '42', query: 'a=b', empty: '', lines: 'one\ntwo', spaced: ' x ', quoted: '"q"' }
  const text = writeMetadata(metadata)
  assert.equal(text.split('\n').length, 6)
  assert.deepEqual(readMetadata(text), metadata)
})

test('what was typed is read kindly: blank lines, spaces, a quote that is not closed', () => {
  assert.deepEqual(readMetadata('\n ticket = 42 \n\nflag\nsaid="no'), { ticket: '42', flag: '', said: '"no' })
})
