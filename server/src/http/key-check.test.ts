import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KEEP_ALIVE_MS, KeyCheck } from './key-check.ts'

test('a stream in which nothing happens asks on time, whenever something happened before', async () => {
  for (const first of [0, 1, 14_999, 20_000, 29_999]) {
    let now = 1_000
    const asked: number[] = []
    const check = new KeyCheck(
      async () => asked.push(now) < 3,
      undefined,
      () => now,
    )
    now += first
    while (await check.isStillAllowed()) {
      assert(check.wait_ms() <= KEEP_ALIVE_MS)
      now += check.wait_ms()
    }
    assert.deepEqual(asked, [31_000, 61_000, 91_000])
  }
})

test('a stream that is kept busy asks no more often', async () => {
  let now = 0
  let asked = 0
  const check = new KeyCheck(
    async () => Boolean(++asked),
    undefined,
    () => now,
  )
  for (; now < 300_000; now += 7) assert(await check.isStillAllowed())
  assert.equal(asked, 9)
  now += 1_000_000
  assert.equal(check.wait_ms(), 0)
})
