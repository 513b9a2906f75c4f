import assert from 'node:assert/strict'
import { createCipheriv, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { deriveKey } from './derive-key.ts'
import { openKeyring } from './keyring.ts'
import { headOf, seal, unseal } from './sealing.ts'
import { openSecret, type SecretPlace, sealSecret } from './secret-value.ts'

const SECRET = 'the secret of an installation'
const keyring = openKeyring(SECRET)
const VALUES = { TOKEN: 'wörd \u0000 🦊', EMPTY: '', __proto__x: 'x' }

test('what is sealed is read again with the same key, for the same place', () => {
  const sealed = seal(keyring, 'run-1', VALUES)
  assert.deepEqual(unseal(keyring, 'run-1', sealed), VALUES)
  assert.deepEqual(unseal(keyring, 'run-1', Uint8Array.from(sealed)), VALUES)
  assert(!sealed.includes('TOKEN'))
  assert.notDeepEqual(seal(keyring, 'run-1', VALUES), sealed)
})

test('another place, another key or a changed byte is refused', () => {
  const sealed = seal(keyring, 'run-1', VALUES)
  assert.throws(() => unseal(keyring, 'run-2', sealed), /does not open/)
  assert.throws(() => unseal(openKeyring('another secret'), 'run-1', sealed), /RUNYARD_OLD_SECRET_KEYS/)
  for (let place = 0; place < sealed.length; place += 1) {
    const changed = Buffer.from(sealed)
    changed[place] = (changed[place] ?? 0) ^ 1
    assert.throws(() => unseal(keyring, 'run-1', changed), `byte ${place}`)
  }
  for (let length = 0; length < sealed.length; length += 1)
    assert.throws(() => unseal(keyring, 'run-1', sealed.subarray(0, length)), `${length} bytes`)
})

test('what is sealed names its key, and an older key of the ring opens it', () => {
  const newer = openKeyring('a newer secret of it', [SECRET])
  const before = seal(keyring, 'run-1', VALUES)
  const after = seal(newer, 'run-1', VALUES)
  assert.deepEqual(unseal(newer, 'run-1', before), VALUES)
  assert.deepEqual(unseal(newer, 'run-1', after), VALUES)
  assert.throws(() => unseal(keyring, 'run-1', after))
  assert(before.subarray(0, 5).equals(headOf(keyring.current)))
  assert(after.subarray(0, 5).equals(headOf(newer.current)))
  assert(!keyring.current.id.equals(newer.current.id))
  // The id is part of what is sealed, too.
  const renamed = Buffer.concat([headOf(newer.current), before.subarray(5)])
  assert.throws(() => unseal(newer, 'run-1', renamed))
})

/** As versions before key ids did it. */
function sealWithoutName(secret: string, place: string, values: object, iv = randomBytes(12)): Buffer {
  const cipher = createCipheriv('aes-256-gcm', deriveKey(secret, 'sealed-values'), iv).setAAD(
    Buffer.from(place),
  )
  const text = Buffer.concat([cipher.update(JSON.stringify(values), 'utf8'), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), text])
}

test('what was sealed without a key id is read, also when it looks like one with', () => {
  const newer = openKeyring('a newer secret of it', [SECRET])
  const alike = Buffer.concat([headOf(keyring.current), randomBytes(7)])
  for (const sealed of [
    sealWithoutName(SECRET, 'run-1', VALUES),
    sealWithoutName(SECRET, 'run-1', VALUES, alike),
  ]) {
    assert.deepEqual(unseal(keyring, 'run-1', sealed), VALUES)
    assert.deepEqual(unseal(newer, 'run-1', sealed), VALUES)
    assert.throws(() => unseal(newer, 'run-2', sealed))
  }
})

test('a secret opens as itself only', () => {
  const place: SecretPlace = { scope: 'User', owner_id: 'p1', name: 'TOKEN', version: 3 }
  const sealed = sealSecret(keyring, place, 'hunter22')
  assert.equal(openSecret(keyring, { ...place, sealed }), 'hunter22')
  for (const moved of [
    { scope: 'Team' as const },
    { owner_id: 'p2' },
    { owner_id: null },
    { name: 'OTHER' },
    { version: 2 },
    { version: 4 },
  ])
    assert.throws(() => openSecret(keyring, { ...place, ...moved, sealed }), JSON.stringify(moved))
})

test('no two purposes share a key', () => {
  const key = deriveKey(SECRET, 'sealed-values')
  assert.equal(key.length, 32)
  assert.deepEqual(key, keyring.current.key)
  assert.notDeepEqual(key, deriveKey(SECRET, 'signed-links'))
})
