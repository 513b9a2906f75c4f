/** Webhooks that write to people: chats by HTTP, mailboxes by a mail server. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Webhook, WebhookDelivery, WebhookTest } from '../src/contract/webhook.ts'
import { until } from './support/cluster.ts'
import { openMailServer } from './support/mail-server.ts'
import { apiOf, shell, startService, type TestService, temporaryDirectory } from './support/service.ts'
import { openWebhookReceiver, type WebhookReceiver } from './support/webhook-receiver.ts'

const NOTICES = ['run.blocked', 'run.succeeded', 'run.failed', 'run.errored', 'run.cancelled']

describe('messages to people', () => {
  let receiver: WebhookReceiver
  let mail: Awaited<ReturnType<typeof openMailServer>>
  let service: TestService
  let api: ReturnType<typeof apiOf>
  before(async () => {
    receiver = await openWebhookReceiver()
    mail = await openMailServer({
      refuse: (address) => (address.startsWith('gone@') ? 'No such mailbox here' : null),
    })
    service = await startService({
      data_dir: temporaryDirectory('messages'),
      env: {
        RUNYARD_PRIVATE_HOSTS: receiver.host,
        RUNYARD_SMTP_URL: mail.url,
        RUNYARD_MAIL_FROM: 'Runyard <runyard@example.com>',
        RUNYARD_MAIL_DOMAINS: 'example.com',
      },
    })
    api = apiOf(service)
  })
  after(async () => {
    await service?.stop()
    await mail?.close()
    await receiver?.close()
  })
  const listen = (body: object) => api.json<Webhook>('POST', '/agent/webhooks', body)
  const remove = ({ webhook_id }: Webhook) => api.json('DELETE', `/agent/webhooks/${webhook_id}`)
  const send = ({ webhook_id }: Webhook) =>
    api.json<WebhookTest>('POST', `/agent/webhooks/${webhook_id}/test`)
  const deliveriesOf = async ({ webhook_id }: Webhook) =>
    (await api.json<{ deliveries: WebhookDelivery[] }>('GET', `/agent/webhooks/${webhook_id}/deliveries`))
      .deliveries

  test('a chat is told of ends, in its own form', async () => {
    const webhook = await listen({ url: receiver.url, format: 'slack' })
    assert.deepEqual([webhook.format, webhook.events], ['slack', NOTICES])
    const run_id = await api.create({ prompt: shell('true'), title: 'Tidy <up> & go' })
    await api.ended(run_id)
    const told = await until('a message', () => receiver.received[0])
    const { text, blocks } = JSON.parse(told.body) as { text: string; blocks: object[] }
    assert.equal(text, 'Done: Tidy &lt;up&gt; &amp; go')
    assert.match(JSON.stringify(blocks), /"url":"http[^"]+\/sessions\/[0-9a-f-]{36}","text":"Tidy <up> & go"/)
    await until('it to be noted', async () => (await deliveriesOf(webhook))[0]?.status === 'delivered')
    assert.equal(receiver.received.length, 1)
    const path = `/agent/webhooks/${webhook.webhook_id}`
    const changed = await api.json<Webhook>('PUT', path, { url: receiver.url })
    assert.deepEqual([changed.format, changed.events.length], ['runyard', 7])
    await remove(webhook)
  })

  test('a person gets letters: one thread for a run, with where they are turned off', async () => {
    const webhook = await listen({ url: 'mailto:lena@EXAMPLE.com', team: false })
    assert.deepEqual([webhook.format, webhook.events], ['email', NOTICES])
    const run_id = await api.create({ prompt: shell('exit 3'), title: 'Grüße\r\nBcc: other@example.com' })
    await api.ended(run_id)
    const letter = await until('a letter', () => mail.received[0])
    assert.deepEqual(letter.to, ['lena@example.com'])
    const [head = '', body = ''] = letter.source.split(/\r\n\r\n([\s\S]*)/)
    const headers = head.replace(/\r\n[ \t]+/g, ' ')
    assert.match(headers, /^From: Runyard <runyard@example\.com>$/m)
    assert.doesNotMatch(headers, /^Bcc:/m)
    assert.match(headers, /^Subject: =\?UTF-8\?/m)
    assert.match(headers, new RegExp(`^References: <run\\.${run_id}@example\\.com>$`, 'm'))
    assert.match(headers, /^Auto-Submitted: auto-generated$/m)
    // Whoever gets it may not open the page of a personal webhook.
    assert.doesNotMatch(headers, /^List-Unsubscribe:/m)
    assert.match(body, /Only \w+ can turn them off\./)
    assert.match(body, /Content-Type: text\/plain/)
    assert.match(body, /Content-Type: text\/html/)
    const delivery = await until('it to be noted', async () =>
      (await deliveriesOf(webhook)).find(({ status }) => status === 'delivered'),
    )
    assert.equal(delivery.response_status, 250)
    assert.match(headers, new RegExp(`^Message-ID: <${delivery.delivery_id}@example\\.com>$`, 'm'))
    await remove(webhook)
  })

  test('a test says what the mail server answered', async () => {
    const webhook = await listen({ url: 'mailto:lena@example.com' })
    const good = await send(webhook)
    assert.deepEqual([good.delivery.status, good.delivery.response_status], ['delivered', 250])
    assert.equal(good.response_body, 'The mail server accepted the letter (250).')
    const source = mail.received.at(-1)?.source ?? ''
    assert.match(source, /Subject: Test: Test of this webhook/)
    assert.doesNotMatch(source, /^References:/m)
    const page = `${new URL(service.base_url).origin}/webhooks/${webhook.webhook_id}`
    assert.match(source.replace(/\r\n[ \t]+/g, ' '), new RegExp(`^List-Unsubscribe: <${page}>`, 'm'))
    await remove(webhook)
    const gone = await listen({ url: 'mailto:gone@example.com' })
    const refused = await send(gone)
    assert.deepEqual([refused.delivery.status, refused.delivery.response_status], ['failed', 550])
    assert.match(refused.delivery.error ?? '', /The mail server answered 550 No such mailbox here/)
    await remove(gone)
  })

  test('letters go where the operator allows it, and to one address each', async () => {
    for (const [body, says] of [
      [{ url: 'mailto:lena@elsewhere.example' }, /^url: E-mail goes to example\.com only/],
      [{ url: 'mailto:lena@example.com?bcc=x@example.com' }, /^url: must be/],
      [{ url: 'mailto:lena@example.com,x@example.com' }, /^url: must be/],
      [{ url: 'mailto:lena%0d%0aBcc:x@example.com' }, /^url: must be/],
      [{ url: 'mailto:' }, /^url: must be/],
      [{ url: 'mailto:evil.example!victim@example.com' }, /^url: must be/],
      [{ url: 'mailto:a|b@example.com' }, /^url: must be/],
      [{ url: 'mailto:a..b@example.com' }, /^url: must be/],
      [{ url: 'mailto:.a@example.com' }, /^url: must be/],
      [{ url: `mailto:${'a'.repeat(65)}@example.com` }, /^url: must be/],
      [{ url: 'mailto:lena@example.com', format: 'slack' }, /^format: an e-mail address takes email only/],
      [{ url: 'https://example.com/', format: 'email' }, /^format: email needs a mailto: address/],
      [{ url: 'https://example.com/', format: 'irc' }, /^format: /],
    ] as const) {
      const answer = await api.call('POST', '/agent/webhooks', body)
      const { detail = '' } = (await answer.json()) as { detail?: string }
      assert.deepEqual([answer.status, says.test(detail)], [400, true], `${JSON.stringify(body)}: ${detail}`)
    }
  })

  test('what the mail server is asked with stays inside', async () => {
    const asked = async (RUNYARD_SMTP_URL: string | undefined) => {
      const own = await startService({
        data_dir: temporaryDirectory('mail-refused'),
        env: RUNYARD_SMTP_URL
          ? { RUNYARD_SMTP_URL, RUNYARD_MAIL_FROM: 'runyard@example.com', RUNYARD_MAIL_DOMAINS: '*' }
          : {},
      })
      try {
        const client = apiOf(own)
        const body = { url: 'mailto:lena@elsewhere.example' }
        const made = await client.call('POST', '/agent/webhooks', body)
        if (!made.ok) return ((await made.json()) as { detail: string }).detail
        const { webhook_id } = (await made.json()) as Webhook
        return (await client.json<WebhookTest>('POST', `/agent/webhooks/${webhook_id}/test`)).delivery.error
      } finally {
        await own.stop()
      }
    }
    assert.equal(await asked(mail.wrong_url), 'The mail server refused the login of this service.')
    assert.equal(await asked('smtp://127.0.0.1:1'), 'The mail server could not be reached, or broke off.')
    assert.match((await asked(undefined)) ?? '', /^url: E-mail is not set up here/)
  })
})
