import assert from 'node:assert/strict'
import { test } from 'node:test'
import { previewOf } from './preview-kind.ts'

test('files are shown as what they are, where a browser can show them safely and soon', () => {
  const show = (mime_type: string, filename = 'a', size_bytes?: number) =>
    previewOf({ mime_type, filename, ...(size_bytes === undefined ? {} : { size_bytes }) })
  assert.equal(show('image/png'), 'picture')
  assert.equal(show('image/svg+xml'), 'picture')
  assert.equal(show('image/tiff'), undefined)
  assert.equal(show('image/png', 'a', 20_000_000), undefined)
  assert.equal(show('text/markdown; charset=utf-8'), 'markdown')
  assert.equal(show('application/octet-stream', 'NOTES.MD'), 'markdown')
  assert.equal(show('text/html'), 'text')
  assert.equal(show('application/json'), 'text')
  assert.equal(show('application/octet-stream', 'main.go'), 'text')
  assert.equal(show('text/plain', 'a', 2_000_000), undefined)
  assert.equal(show('application/pdf'), 'pdf')
  assert.equal(show('application/octet-stream', 'a.PDF'), 'pdf')
  assert.equal(show('text/html', 'a.pdf'), 'text')
  assert.equal(show('application/pdf', 'a.pdf', 30_000_000), undefined)
})
