import assert from 'node:assert/strict'
import test from 'node:test'
import { json, problem, serve } from '../test/server.ts'
import { type Logger, Runyard } from './index.ts'

function collect(): { lines: string[]; logger: Logger } {
  const lines: string[] = []
  const at =
    (level: string) =>
    (...words: unknown[]) =>
      void lines.push(
        `${level} ${words.map((word) => (typeof word === 'string' ? word : JSON.stringify(word))).join(' ')}`,
      )
  return { lines, logger: { error: at('error'), warn: at('warn'), info: at('info'), debug: at('debug') } }
}

test('a log names requests, retries and times, and never a secret', async (t) => {
  const { lines, logger } = collect()
  const answers = [problem(503, 'resource_unavailable', { 'retry-after-ms': '0' }), json({ models: [] })]
  const { client } = await serve(t, answers, {
    apiKey: 'ry_verysecret',
    logger,
    logLevel: 'debug',
    defaultHeaders: { cookie: 'session=verysecret', 'x-api-key': 'verysecret', 'x-signature': 'verysecret' },
    defaultQuery: { token: 'verysecret' },
  })
  await client.models.list()
  const text = lines.join('\n')
  assert.match(text, /debug runyard: GET \/agent\/models is sent .*"authorization":"\*\*\*"/)
  assert.match(text, /info .*failed after \d+ ms: What happened \(request-1\); retry 1 of 2 in 0 ms/)
  assert.match(text, /info .*succeeded in \d+ ms/)
  assert.doesNotMatch(text, /verysecret/)
})

test('by default requests are not logged; RUNYARD_LOG changes that', async (t) => {
  const { lines, logger } = collect()
  const { client } = await serve(t, [json({ models: [] })], { logger })
  await client.models.list()
  assert.deepEqual(lines, [])
  t.after(() => {
    delete process.env.RUNYARD_LOG
  })
  process.env.RUNYARD_LOG = 'info'
  await client.withOptions({}).models.list()
  assert.deepEqual(lines, [])
  await new Runyard({ apiKey: 'k', baseURL: client.baseURL, logger }).models.list()
  assert.equal(lines.length, 1)
  process.env.RUNYARD_LOG = 'loud'
  assert.throws(() => new Runyard({ apiKey: 'k' }), /one of off, error, warn, info, debug, not 'loud'/)
})
