import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judgeTarget, readTarget } from './egress-rules.ts'

test('targets are read in one way, however they are written', () => {
  for (const [authority, host, port] of [
    ['example.com:443', 'example.com', 443],
    ['EXAMPLE.com.:443', 'example.com', 443],
    ['bücher.example:443', 'xn--bcher-kva.example', 443],
    ['example.com:80', 'example.com', 80],
    // All of them one address.
    ['127.0.0.1:443', '127.0.0.1', 443],
    ['2130706433:443', '127.0.0.1', 443],
    ['0x7f.1:443', '127.0.0.1', 443],
    ['0177.0.0.1:443', '127.0.0.1', 443],
    ['127.1.:443', '127.0.0.1', 443],
    ['[::ffff:127.0.0.1]:443', '::ffff:7f00:1', 443],
    ['１２７.0.0.1:443', '127.0.0.1', 443],
  ] as const)
    assert.deepEqual(readTarget(authority), { host, port }, authority)
})

test('what is no target', () => {
  for (const authority of [
    ...['', ':443', 'example.com', 'example.com:', 'example.com:0', 'example.com:65536', 'example.com:-1'],
    ...['user@example.com:443', 'example.com:443/path', 'example.com:443?x', 'example.com:443#x', 'a b:443'],
    ...['example.com\\@other.example:443', 'exa%6dple%00.com:443', '-.example:443', `${'a'.repeat(254)}:443`],
  ])
    assert.equal(readTarget(authority), null, authority)
})

test('a host is allowed by name, by wildcard, and at the ports of the web', () => {
  const rules = {
    hosts: [
      ...['example.com', '*.example.org', 'git.example.net:8443', '10.0.0.7', 'internal:9000'],
      '10.0.0.7:8443',
    ],
    private_hosts: ['10.0.0.7', 'internal:9000'],
  }
  for (const [authority, reason] of [
    ['example.com:443', null],
    ['example.com:80', null],
    ['example.com:22', 'port'],
    ['www.example.com:443', 'not_listed'],
    ['example.com.evil.example:443', 'not_listed'],
    ['evilexample.com:443', 'not_listed'],
    ['a.b.example.org:443', null],
    ['example.org:443', 'not_listed'],
    ['evilexample.org:443', 'not_listed'],
    ['git.example.net:8443', null],
    ['git.example.net:443', 'not_listed'],
    ['10.0.0.7:443', null],
    // Named for the ports of the web; the list of an environment names no others.
    ['10.0.0.7:5432', 'port'],
    ['10.0.0.7:8443', 'port'],
    ['internal:9000', null],
    ['internal:9001', 'not_listed'],
    ['1.1.1.1:443', 'not_listed'],
  ] as const) {
    const target = readTarget(authority)
    assert(target)
    assert.equal(judgeTarget(rules, target), reason, authority)
  }
})

test('without a list every name is allowed, and no address', () => {
  const rules = { hosts: null, private_hosts: [] }
  assert.equal(judgeTarget(rules, { host: 'example.com', port: 443 }), null)
  assert.equal(judgeTarget(rules, { host: 'example.com', port: 8080 }), 'port')
  assert.equal(judgeTarget(rules, { host: '1.1.1.1', port: 443 }), 'no_name')
  assert.equal(judgeTarget(rules, { host: 'localhost', port: 443 }), 'not_public')
  assert.equal(
    judgeTarget({ ...rules, private_hosts: ['localhost'] }, { host: 'localhost', port: 443 }),
    null,
  )
})
