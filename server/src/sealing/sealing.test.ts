import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deriveKey, seal, unseal } from './sealing.ts'

const SECRET = 'the secret of an installation'
const key = deriveKey(SECRET, 'sealed-values')
const VALUES = { TOKEN: 'wörd \u0000 🦊', EMPTY: '', __proto__x: 'x' }

test('what is sealed is read again with the same key, for the same place', () => {
  const sealed = seal(key, 'run-1', VALUES)
  assert.deepEqual(unseal(key, 'run-1', sealed), VALUES)
  assert.deepEqual(unseal(key, 'run-1', Uint8Array.from(sealed)), VALUES)
  assert(!sealed.includes('TOKEN'))
  assert.notDeepEqual(seal(key, 'run-1', VALUES), sealed)
})

test('another place, another key or a changed byte is refused', () => {
  const sealed = seal(key, 'run-1', VALUES)
  assert.throws(() => unseal(key, 'run-2', sealed))
  assert.throws(() => unseal(deriveKey('another secret', 'sealed-values'), 'run-1', sealed))
  for (let place = 0; place < sealed.length; place += 1) {
    const changed = Buffer.from(sealed)
    changed[place] = (changed[place] ?? 0) ^ 1
    assert.throws(() => unseal(key, 'run-1', changed), `byte ${place}`)
  }
  assert.throws(() => unseal(key, 'run-1', sealed.subarray(0, 20)))
})

test('no two purposes share a key', () => {
  assert.equal(key.length, 32)
  assert.deepEqual(key, deriveKey(SECRET, 'sealed-values'))
  assert.notDeepEqual(key, deriveKey(SECRET, 'signed-links'))
})
