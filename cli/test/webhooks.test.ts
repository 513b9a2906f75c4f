/** Webhooks on the command line, sent to a receiver of this machine. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Runyard, type Webhook, type WebhookDelivery } from '@runyard/client'
import { openWebhookReceiver, type WebhookReceiver } from '../../server/test/support/webhook-receiver.ts'
import { type Ended, Home } from './runyard.ts'

const LIMIT = { timeout: 600_000 }
const home = new Home()
const { webhooks } = new Runyard({ apiKey: null })
let receiver: WebhookReceiver
let is_broken = false

before(async () => {
  receiver = await openWebhookReceiver((_, response) => {
    response.writeHead(is_broken ? 500 : 204).end()
  })
  await home.serve({ env: { RUNYARD_PRIVATE_HOSTS: receiver.host } })
}, LIMIT)
after(async () => {
  await receiver?.close()
  await home.remove()
}, LIMIT)

const run = (...args: string[]): Promise<Ended> => home.run(['webhook', ...args])

async function read<T>(...args: string[]): Promise<T> {
  const { code, stdout, stderr } = await run(...args, '-o', 'json')
  assert.equal(code, 0, stderr)
  return JSON.parse(stdout) as T
}

/** Makes one, and says its id and secret. */
async function create(...args: string[]): Promise<{ id: string; secret: string }> {
  const { code, stdout, stderr } = await run('create', receiver.url, ...args)
  assert.equal(code, 0, stderr)
  assert.match(stdout, /^whsec_[\w+/=]+\n$/)
  assert.match(stderr, /shown this once/)
  return { id: /Webhook (\S+)\./.exec(stderr)?.[1] ?? '', secret: stdout.trim() }
}

async function waitFor<T>(look: () => Promise<T | undefined> | T | undefined): Promise<T> {
  const give_up = Date.now() + 60_000
  while (Date.now() < give_up) {
    const found = await look()
    if (found !== undefined) return found
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error('It has not come.')
}

test('a webhook is made, shown, changed and deleted', LIMIT, async () => {
  const events = ['--event', 'run.failed', '--event', 'run.blocked']
  const { id, secret } = await create(...events, '--personal', '--disabled', '--description', 'For CI.')
  const made = await read<Webhook>('show', id)
  assert.deepEqual(
    [made.events, made.enabled, made.scope.type, made.description],
    [['run.failed', 'run.blocked'], false, 'User', 'For CI.'],
  )
  const { stdout: shown } = await run('show', id)
  assert.match(shown, /\nevents +run\.failed run\.blocked\n/)
  assert.match(shown, /\nstate +disabled\n/)
  assert(!shown.includes(secret))

  assert.deepEqual(await run('update', id, '--enable'), {
    code: 0,
    stdout: `${id}\n`,
    stderr: 'Updated. It is enabled.\n',
  })
  const enabled = await read<Webhook>('show', id)
  assert.deepEqual(
    [enabled.enabled, enabled.events, enabled.description],
    [true, made.events, made.description],
  )
  await run('update', id, '--event', 'run.created', '--url', 'https://example.com/', '--description', 'New.')
  const changed = await read<Webhook>('show', id)
  assert.deepEqual(
    [changed.events, changed.url, changed.description],
    [['run.created'], 'https://example.com/', 'New.'],
  )
  await run('update', id, '--disable')
  assert.equal((await run('list')).stdout, `${id}  you, disabled\n  https://example.com/\n`)

  assert.equal((await run('delete', id)).stdout, `${id}\n`)
  const { code, stderr } = await run('show', id)
  assert.equal(code, 1)
  assert.match(stderr, /There is no webhook/)
  assert.match((await run('list')).stderr, /No webhooks\. Make one/)
})

test('a delivery is signed with the secret that was printed, listed and sent again', LIMIT, async () => {
  const { id, secret } = await create('--event', 'run.created')
  is_broken = true
  const { stderr } = await home.run(['run', 'Hello', '--detach'])
  const first = await waitFor(() => receiver.received[0]).catch(() => assert.fail(stderr))
  const { type, data } = await webhooks.unwrap(first.body, first.headers, secret)
  assert.equal(type, 'run.created')
  const delivery = await waitFor(async () => {
    const { deliveries } = await read<{ deliveries: WebhookDelivery[] }>('deliveries', id)
    return deliveries.find(({ response_status }) => response_status === 500)
  })
  assert.deepEqual([delivery.delivery_id, delivery.run_id], [first.headers['webhook-id'], data.run_id])
  const lines = (await run('deliveries', id, '--status', 'pending')).stdout
  assert.match(lines, new RegExp(`^${delivery.delivery_id}  pending, \\d tr(y|ies), answered 500\n`))
  assert.match(lines, new RegExp(`\n  run\\.created .+\n  run ${delivery.run_id}\n  .*500`))
  assert.equal((await run('deliveries', id, '--status', 'failed')).stderr, 'No deliveries.\n')

  is_broken = false
  const rotated = await run('rotate', id)
  assert.match(rotated.stderr, /signed with both/)
  const before_again = receiver.received.length
  assert.equal((await run('redeliver', id, delivery.delivery_id)).stdout, `${delivery.delivery_id}\n`)
  const again = await waitFor(() => receiver.received[before_again])
  assert.equal(again.headers['webhook-id'], delivery.delivery_id)
  for (const one of [secret, rotated.stdout.trim()]) await webhooks.unwrap(again.body, again.headers, one)
  await waitFor(async () => {
    const { stdout } = await run('deliveries', id, '--status', 'delivered')
    return stdout.includes(delivery.delivery_id) || undefined
  })
  assert.equal((await run('delete', id)).code, 0)
})

test('a test is sent at once, and what came back is shown', LIMIT, async () => {
  const { id } = await create('--disabled')
  const sent = await run('test', id)
  assert.deepEqual([sent.code, sent.stdout], [0, ''])
  assert.match(sent.stderr, /^It arrived: answered \d+ in \d+ ms\.\n$/)
  is_broken = true
  const failed = await run('test', id)
  assert.equal(failed.code, 1)
  assert.match(failed.stderr, /^The receiver answered 500\. \(\d+ ms\)\n$/)
  is_broken = false
  assert.match(
    (await run('deliveries', id)).stdout,
    /^\S+ {2}failed, 1 try, answered 500\n {2}webhook\.test .+\n {2}The/,
  )
  assert.equal((await run('delete', id)).code, 0)
})

test('a chat gets messages in its own format, and an address is kept as it is written', LIMIT, async () => {
  const made = await run('create', receiver.url, '--format', 'slack', '--disabled')
  const id = made.stdout.trim()
  assert.match(made.stderr, /^Try it: runyard webhook test /)
  assert.equal((await run('test', id)).code, 0)
  assert.match(receiver.received.at(-1)?.body ?? '', /^\{"text":/)
  await run('update', id, '--description', 'Ours.')
  const { format, events } = await read<Webhook>('show', id)
  assert.deepEqual([format, events.length], ['slack', 5])
  const refused = await run('update', id, '--url', 'lena@example.com', '--enable')
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /E-mail is not set up here/)
  assert.equal((await run('delete', id)).code, 0)
})

const NOBODY = '00000000-0000-7000-8000-000000000000'

test('wrong use ends with 2, what the service refuses with 1', LIMIT, async () => {
  for (const args of [
    ['create'],
    ['create', receiver.url, '--event', 'run.paused'],
    ['update', NOBODY],
    ['update', NOBODY, '--enable', '--disable'],
    ['deliveries', NOBODY, '--status', 'lost'],
    ['redeliver', NOBODY],
  ]) {
    const { code, stderr } = await run(...args)
    assert.equal(code, 2, `${args}: ${stderr}`)
  }
  const refused = await run('create', 'ftp://example.com')
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /url/)
})
