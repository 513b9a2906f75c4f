import assert from 'node:assert/strict'
import test from 'node:test'
import { hangUp, json, serve } from '../test/server.ts'

test('an artifact is downloaded by its signed link, without the key', async (t) => {
  const store = await serve(t, [hangUp, (response) => void response.end('the report')])
  const { client } = await serve(t, [
    json({ data: { download_url: `${store.origin}/downloads/a1?signature=s` } }),
  ])
  const response = await client.artifacts.download('a1')
  assert.equal(await response.text(), 'the report')
  assert.equal(store.received.length, 2)
  const asked = store.received[1]
  assert.deepEqual([asked?.url, asked?.headers.authorization], ['/downloads/a1?signature=s', undefined])
})
