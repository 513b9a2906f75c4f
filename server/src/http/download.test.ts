import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { exactly } from './download.ts'

const parts = (): Readable => Readable.from([Buffer.from('one '), Buffer.from('two')])

test('a file that is not as long as its answer says is not sent to an end', async () => {
  assert.equal((await buffer(exactly(parts(), 7))).toString(), 'one two')
  for (const size of [0, 3, 6, 8]) {
    const data = parts()
    await assert.rejects(buffer(exactly(data, size)), new RegExp(`not of the ${size} bytes`))
    assert(data.destroyed)
  }
})
