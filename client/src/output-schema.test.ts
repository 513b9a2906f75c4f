import assert from 'node:assert/strict'
import test from 'node:test'
import { z } from 'zod'
import { type Answer, json, serve } from '../test/server.ts'
import { APIResponseValidationError, RunFailedError, RunyardError } from './index.ts'

const Verdict = z.object({ fixed: z.boolean(), files: z.array(z.string()).default([]) })
const created = json({ run_id: 'r1', task_id: 'r1', state: 'QUEUED', at_capacity: false })
const stream: Answer = (response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' }).end('event: end\ndata: {}\n\n')
}
const ended = (state: string, result?: unknown) => json({ run_id: 'r1', state, result })

test('a schema goes out as JSON Schema; the result comes back checked and typed', async (t) => {
  const { client, received } = await serve(t, [created, stream, ended('SUCCEEDED', { fixed: true })])
  const run = await client.runs.createAndWait(
    { prompt: 'Fix it.', output_schema: Verdict },
    { idempotencyKey: 'fix-1' },
  )
  assert(run.state === 'SUCCEEDED')
  const files: string[] = run.result.files
  assert.deepEqual([run.result.fixed, files], [true, []])
  const [create] = received
  assert.equal(create?.headers['idempotency-key'], 'fix-1')
  assert.deepEqual(JSON.parse(create?.body ?? '').output_schema.required, ['fixed'])
})

test('a result that does not fit says where', async (t) => {
  const { client } = await serve(t, [created, stream, ended('SUCCEEDED', { fixed: 'yes' })])
  await assert.rejects(
    client.runs.createAndWait({ prompt: 'Fix it.', output_schema: Verdict }),
    (error) => error instanceof APIResponseValidationError && /run r1 .*fixed: /.test(error.message),
  )
})

test('a schema that fails itself, or cannot describe itself, loses nothing', async (t) => {
  const { client, received } = await serve(t, [ended('SUCCEEDED', { fixed: true })])
  const broken = z.object({ fixed: z.boolean() }).transform(() => {
    throw new TypeError('a bug')
  })
  await assert.rejects(
    client.runs.wait('r1', { output_schema: broken }),
    (error) =>
      error instanceof APIResponseValidationError && error.run_id === 'r1' && error.run.state === 'SUCCEEDED',
  )
  const mute = { '~standard': { version: 1, vendor: 'x', validate: () => ({ value: 1 }) } }
  await assert.rejects(client.runs.create({ prompt: 'Go.', output_schema: mute }), RunyardError)
  assert.equal(received.length, 1)
})

test('a failed run is an error, or comes back without a result', async (t) => {
  const answers = [ended('FAILED')]
  const { client } = await serve(t, answers)
  await assert.rejects(client.runs.wait('r1', { output_schema: Verdict }), RunFailedError)
  const { client: lenient } = await serve(t, answers)
  const run = await lenient.runs.wait('r1', { output_schema: Verdict, throwOnFailure: false })
  assert.deepEqual([run.state, run.result], ['FAILED', undefined])
})

test('plain JSON Schema is passed on, and its result as it came', async (t) => {
  const { client, received } = await serve(t, [created, stream, ended('SUCCEEDED', { fixed: true })])
  const run = await client.runs.createAndWait({ prompt: 'Fix it.', output_schema: { type: 'object' } })
  assert.deepEqual(run.result, { fixed: true })
  assert.deepEqual(JSON.parse(received[0]?.body ?? '').output_schema, { type: 'object' })
})
