import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ReferenceUrl } from './reference-url.ts'

test('addresses that lead to the same place are the same', () => {
  for (const [given, compared] of [
    ['HTTPS://GitHub.com:443/Acme/Site/pull/7/#discussion_1', 'https://github.com/Acme/Site/pull/7'],
    ['https://tickets.example/', 'https://tickets.example'],
    ['http://tickets.example:80//', 'http://tickets.example'],
    ['https://tickets.example:8443/T-1/?page=/a/', 'https://tickets.example:8443/T-1?page=/a/'],
    ['https://tickets.example/T-1?', 'https://tickets.example/T-1'],
  ])
    assert.equal(ReferenceUrl.parse(given), compared)
})

test('what is no address of the web, or holds credentials, finds nothing', () => {
  for (const given of ['example.com', 'ftp://example.com/', 'https://me@example.com/', 'https://a b/', ''])
    assert.equal(ReferenceUrl.safeParse(given).success, false, given)
})
