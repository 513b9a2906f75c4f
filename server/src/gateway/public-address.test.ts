import assert from 'node:assert/strict'
import { networkInterfaces } from 'node:os'
import { test } from 'node:test'
import { findPublic } from './public-address.ts'

const isPublicAddress = (address: string) => findPublic([{ address }]).length === 1

test('addresses of the public internet', () => {
  for (const address of ['1.1.1.1', '140.82.121.4', '2606:4700:4700::1111', '::ffff:8.8.8.8'])
    assert.equal(isPublicAddress(address), true, address)
})

test('addresses that lead elsewhere', () => {
  const special = {
    unspecified: ['0.0.0.0', '0.1.2.3', '::', '::ffff:0.0.0.0'],
    loopback: ['127.0.0.1', '127.255.255.254', '::1', '::ffff:127.0.0.1', '::127.0.0.1'],
    private: ['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', 'fc00::1', 'fd00:ec2::254'],
    link: ['169.254.169.254', 'fe80::1', '::ffff:169.254.169.254'],
    shared: ['100.64.0.1', '100.100.100.200'],
    reserved: [
      '192.0.0.192',
      '192.0.2.1',
      '198.18.0.1',
      '198.51.100.1',
      '203.0.113.1',
      '240.0.0.1',
      '2001:db8::1',
    ],
    group: ['224.0.0.1', '255.255.255.255', 'ff02::1'],
    // An IPv4 address inside, which the network may give back.
    translated: ['64:ff9b::7f00:1', '64:ff9b:1::a00:1', '2002:7f00:1::', '2001:0:1::1', '::ffff:0:7f00:1'],
    other: ['168.63.129.16', 'fec0::1', '4000::1', 'localhost', ''],
  }
  for (const [kind, addresses] of Object.entries(special))
    for (const address of addresses) assert.equal(isPublicAddress(address), false, `${kind} ${address}`)
})

test('no address of this machine, whatever it is', () => {
  for (const { address } of Object.values(networkInterfaces()).flatMap((list) => list ?? []))
    assert.equal(isPublicAddress(address), false, address)
})
