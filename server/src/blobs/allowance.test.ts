import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Allowance } from './allowance.ts'

test('what is there is counted once for all who ask meanwhile, and who has an older count does not wait', async () => {
  const counts: PromiseWithResolvers<number>[] = []
  const allowance = new Allowance({
    ...{ max_bytes: 100, count_every_ms: 0 },
    countBytes: () => {
      const count = Promise.withResolvers<number>()
      counts.push(count)
      return count.promise
    },
  })
  const asking = Array.from({ length: 50 }, () => allowance.requireRoom())
  counts[0]?.resolve(10)
  await Promise.all(asking)
  assert.equal(counts.length, 1)

  await Promise.all(Array.from({ length: 50 }, () => allowance.requireRoom()))
  assert.equal(counts.length, 2)
  allowance.add(60)
  counts[1]?.resolve(40)
  await new Promise(setImmediate)
  // 40, and the 60 that came while it was counted: full, so that the next waits for a count.
  const full = allowance.requireRoom()
  assert.equal(counts.length, 3)
  counts[2]?.resolve(100)
  await assert.rejects(full, { name: 'BlobsFull' })

  const failing = allowance.requireRoom()
  counts[3]?.reject(new Error('away'))
  await assert.rejects(failing, /away/)
  const freed = allowance.requireRoom()
  counts[4]?.resolve(0)
  await freed
})
