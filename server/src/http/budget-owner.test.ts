import assert from 'node:assert/strict'
import { test } from 'node:test'
import { blockOf } from './budget-owner.ts'

test('an address has one budget, however a proxy writes it', () => {
  const same = (...addresses: string[]) => assert.equal(new Set(addresses.map(blockOf)).size, 1)
  same('198.51.100.1', '::ffff:198.51.100.1', '::ffff:c633:6401', '198.51.100.1:4000', '"198.51.100.1:4001"')
  same(
    '2001:db8:0:1::1',
    '2001:DB8::1:0:0:0:2',
    '[2001:db8:0:1::3]:4000',
    '"[2001:db8:0:1::4]"',
    '2001:db8:0:1::5%e0',
  )
  same('unknown', '_hidden', 'unknown:4000', '')
  assert.notEqual(blockOf('198.51.100.1:1'), blockOf('198.51.100.2:1'))
  assert.notEqual(blockOf('[2001:db8:0:1::1]:1'), blockOf('[2001:db8:0:2::1]:1'))
  const embedded = [
    '2002:c633:6401::1',
    '2002:c633:6401:ffff::2',
    '64:ff9b::198.51.100.1',
    '::ffff:0:198.51.100.1',
  ]
  same(
    '198.51.100.1',
    ...embedded,
    '2001:0:4136:e378:8000:63bf:39cc:9bfe',
    '2001::1:39cc:9bfe',
    '::198.51.100.1',
  )
  same('64:ff9b:1::1', '64:ff9b:1:ffff::2')
  assert.notEqual(blockOf('2002:c633:6401::1'), blockOf('2002:c633:6402::1'))
  assert.notEqual(blockOf('64:ff9b::198.51.100.1'), blockOf('64:ff9b::198.51.100.2'))
  assert.notEqual(blockOf('::1'), blockOf('127.0.0.1'))
})
