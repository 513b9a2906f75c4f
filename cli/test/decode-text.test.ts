import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decodeText } from '../src/decode-text.ts'

const TEXT = 'Fix „größe“ — 修正 {"a": 1}\r\n'
const big = (text: string) => Buffer.from(text, 'utf16le').swap16()
const read = (bytes: Buffer) => {
  const decoded = decodeText(bytes)
  return 'text' in decoded ? decoded.text : decoded.is
}

test('text is read in the encodings that editors and shells write', () => {
  assert.equal(read(Buffer.from(TEXT)), TEXT)
  assert.equal(read(Buffer.from(`\ufeff${TEXT}`)), TEXT)
  assert.equal(read(Buffer.from(`\ufeff${TEXT}`, 'utf16le')), TEXT)
  assert.equal(read(big(`\ufeff${TEXT}`)), TEXT)
  assert.equal(read(Buffer.from(TEXT, 'utf16le')), TEXT)
  assert.equal(read(big(TEXT)), TEXT)
  assert.equal(read(Buffer.alloc(0)), '')
  assert.equal(read(Buffer.from('\ufeff', 'utf16le')), '')
})

test('what is none of them is named, not guessed', () => {
  assert.match(read(Buffer.from('Größe', 'latin1')), /Latin-1/)
  assert.match(read(Buffer.from([0x93, 0x66, 0x69, 0x78, 0x94])), /Windows-1252/)
  const utf32 = Buffer.from([0xff, 0xfe, 0, 0, 0x61, 0, 0, 0])
  assert.match(read(utf32), /UTF-32/)
  assert.match(read(Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])), /binary/)
  assert.match(read(Buffer.from('a\0b')), /binary/)
  // A lone surrogate is no character: decoding would silently put another one in its place.
  assert.match(read(Buffer.from([0xff, 0xfe, 0x00, 0xd8, 0x61, 0x00])), /binary/)
})
