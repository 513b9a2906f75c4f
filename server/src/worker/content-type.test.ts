import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HEAD_BYTES, readContentType } from './content-type.ts'

const PNG = Buffer.from('89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de', 'hex')
const JPEG = Buffer.from('ffd8ffe000104a46494600010100000100010000', 'hex')
const WEBP = Buffer.from('RIFF\x24\0\0\0WEBPVP8 ', 'latin1')

const CASES: Array<[string, string | Buffer, string]> = [
  ['shot.png', PNG, 'image/png'],
  ['shot', JPEG, 'image/jpeg'],
  ['page.html', WEBP, 'image/webp'],
  ['report.pdf', '%PDF-1.7\n', 'application/pdf'],
  ['bundle', Buffer.from('PK\x03\x04\x14\0', 'latin1'), 'application/zip'],
  // A name makes nothing of bytes.
  ['shot.png', 'PNG', 'text/plain'],
  ['shot.png', Buffer.from('89504e47', 'hex'), 'text/plain'],
  ['page.html', 'hello', 'text/plain'],
  ['drawing.svg', 'hello', 'text/plain'],
  ['program.json', Buffer.from([1, 2, 3, 0]), 'application/octet-stream'],
  // Nor does it hide what they are.
  ['notes.txt', '<!DOCTYPE html><p>hi', 'text/html'],
  ['notes.md', ' \n<ScRiPt>alert(1)</script>', 'text/html'],
  ['data.csv', '\ufeff<html>', 'text/html'],
  ['data.json', '<svg xmlns="http://www.w3.org/2000/svg"/>', 'image/svg+xml'],
  ['shot.png', '<?xml version="1.0"?>\n<!-- a -->\n<x:svg xmlns:x="…">', 'image/svg+xml'],
  ['feed.rss', '<?xml version="1.0"?><rss/>', 'application/xml'],
  // Among kinds of text it counts.
  ['table.CSV', 'a,b\n', 'text/csv'],
  ['answer.json', '{"a":1}', 'application/json'],
  ['report.md', '# Title\n<svg>', 'text/markdown'],
  ['0001.patch', 'diff --git a/a b/a\n', 'text/x-diff'],
  ['main.py', 'print(1)\n', 'text/plain'],
  ['latin.txt', Buffer.from('caf\xe9', 'latin1'), 'text/plain'],
  ['empty', '', 'text/plain'],
]

for (const [name, bytes, type] of CASES)
  test(`${name} that holds ${JSON.stringify(bytes.toString('latin1').slice(0, 24))} is ${type}`, async () => {
    assert.equal(await readContentType(Buffer.from(bytes as string), name), type)
  })

test('bytes that only look like something fail nothing', async () => {
  const heads = ['3026b2758e66cf11a6d9', '504b0304', '1a45dfa3', '4f676753', 'd0cf11e0a1b11ae1', '1f8b08']
  for (const [at, head] of heads.entries()) {
    const bytes = Buffer.alloc(HEAD_BYTES, at * 37 + 1)
    bytes.write(head, 'hex')
    assert.match(await readContentType(bytes, 'x'), /^[a-z]+\/[a-z0-9.+-]+$/, head)
  }
})
