import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import test from 'node:test'
import { Runyard, RunyardError, WebhookVerificationError } from './index.ts'

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const BODY = '{"type":"run.succeeded","data":{"run_id":"r1"}}'
const { webhooks } = new Runyard({ apiKey: 'k', webhookSecret: SECRET })

function sign(body = BODY): Record<string, string> {
  const timestamp = String(Math.floor(Date.now() / 1000))
  const key = Buffer.from(SECRET.slice(6), 'base64')
  const signature = createHmac('sha256', key).update(`msg_1.${timestamp}.${body}`).digest('base64')
  return {
    'webhook-id': 'msg_1',
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signature}`,
  }
}

test('headers are read from whatever holds them, the body as text or bytes', async () => {
  const signed = sign()
  const { 'webhook-signature': good = '', ...rest } = signed
  const foreign = { get: (name: string) => signed[name] ?? null }
  for (const headers of [
    signed,
    new Headers(signed),
    foreign,
    { ...rest, 'Webhook-Signature': ['v1,AAAA', good] },
  ])
    assert.equal((await webhooks.unwrap(BODY, headers)).type, 'run.succeeded')
  assert.equal((await webhooks.unwrap(Buffer.from(BODY), signed)).type, 'run.succeeded')
})

test('what cannot be checked is refused with the reason', async () => {
  await assert.rejects(webhooks.unwrap(JSON.parse(BODY), sign()), /as it came, its text or its bytes/)
  await assert.rejects(webhooks.unwrap(BODY, sign(), 'whsec_'), RunyardError)
  await assert.rejects(webhooks.unwrap('no JSON', sign('no JSON')), /its body is not JSON/)
  const late = { ...sign(), 'webhook-timestamp': '9'.repeat(5_000) }
  await assert.rejects(webhooks.unwrap(BODY, late), WebhookVerificationError)
})
