import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OutputRing } from './output-ring.ts'

test('keeps what an array of marked bytes would keep, whatever is pushed and taken', () => {
  for (const limit of [0, 1, 7, 5_000, Number.POSITIVE_INFINITY]) {
    const ring = new OutputRing(limit)
    let kept: Array<[stream: string, byte: number]> = []
    // The same "random" numbers each time.
    let seed = 1
    const random = (below: number) => {
      seed = (seed * 48_271) % 0x7fffffff
      return seed % below
    }
    for (let round = 0; round < 3_000; round += 1) {
      if (random(3) === 0) {
        const taken = ring.shift()
        assert.equal(taken === null, kept.length === 0)
        for (const byte of taken?.data ?? []) assert.deepEqual([taken?.stream, byte], kept.shift())
        assert.notEqual(taken?.data.length, 0)
      } else {
        const stream = random(2) ? 'stdout' : 'stderr'
        const data = Uint8Array.from({ length: random(random(10) ? 4 : 600) }, () => random(256))
        const before = kept.length + data.length
        kept.push(...[...data].map((byte): [string, number] => [stream, byte]))
        if (kept.length > limit) kept = kept.slice(kept.length - limit)
        assert.equal(ring.push(stream, data), before - kept.length)
      }
      assert.equal(ring.length, kept.length)
    }
    assert.deepEqual(
      [...ring.read()],
      kept.map(([, byte]) => byte),
    )
  }
})
