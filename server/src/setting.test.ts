import assert from 'node:assert/strict'
import { test } from 'node:test'
import { networks } from './setting.ts'

test('networks are read as every reader of them does, or refused', () => {
  assert.deepEqual(networks.parse('203.0.113.9/28, 2001:DB8::1/48,203.0.113.0/28'), [
    '203.0.113.0/28',
    '2001:db8::/48',
  ])
  // ipaddr.js takes them for 10.0.0.0/16, 8.0.0.0/8 and 127.0.0.0/8.
  for (const odd of ['10.1/16', '010.0.0.0/8', '0x7f.0.0.0/8', '203.0.113.0', '203.0.113.0/33', '::/129'])
    assert.equal(networks.safeParse(odd).success, false, odd)
})
