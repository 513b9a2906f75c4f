import assert from 'node:assert/strict'
import { test } from 'node:test'
import { retrying } from './lease-lost.ts'

test('statements that a loaded database cuts short are tried again for longer than a few seconds', async () => {
  let tries = 0
  const work = async () => {
    tries += 1
    if (tries <= 5)
      throw Object.assign(new Error('refused by a test'), { code: tries % 2 ? '57014' : '40P01' })
    return 'stored'
  }
  assert.equal(await retrying(work, new AbortController().signal), 'stored')
})
