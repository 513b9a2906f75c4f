import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { Home } from './runyard.ts'

test('commands at the same time in one process do not mix', { timeout: 60_000 }, async (t) => {
  const waiting: Array<[key: string, response: ServerResponse]> = []
  const answer = ([key, response]: (typeof waiting)[number]): void => {
    const body = { run_id: `of ${key}`, page_info: {}, runs: [] }
    response
      .writeHead(key === 'good' ? 200 : 401, { 'content-type': 'application/json' })
      .end(JSON.stringify(body))
  }
  const server = createServer((request, response) => {
    const [, key = ''] = request.headers.authorization?.split(' ') ?? []
    waiting.push([key, response])
    // Neither gets on before both are at work; the last one that asked is the first that goes on.
    if (waiting.length === 2) waiting.reverse().forEach(answer)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const [one, other] = [new Home(), new Home()]
  t.after(async () => {
    server.close()
    await Promise.all([one.remove(), other.remove()])
  })
  writeFileSync(join(one.directory, 'prompt.md'), 'Hello.')
  const environment = (key: string) => ({
    RUNYARD_BASE_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    RUNYARD_API_KEY: key,
  })
  const [good, bad, missing, help] = await Promise.all([
    one.run(['run', '--detach', '-f', 'prompt.md'], { environment: environment('good') }),
    other.run(['list'], { environment: environment('bad') }),
    other.run(['run', '-f', 'prompt.md'], { environment: environment('bad') }),
    other.run(['list', '--help']),
  ])
  assert.deepEqual(
    [good.code, good.stdout, good.stderr],
    [0, 'of good\n', 'Started. Watch it: runyard follow of good\n'],
  )
  assert.deepEqual([bad.code, bad.stdout], [1, ''])
  assert.match(bad.stderr, /^error: /)
  assert.deepEqual(
    [missing.code, missing.stderr],
    [2, 'error: Cannot read prompt.md: there is no such file.\n'],
  )
  assert.deepEqual([help.code, help.stderr], [0, ''])
  assert.match(help.stdout, /^Usage: runyard list/)
})
