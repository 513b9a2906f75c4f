/** How long a mail server may take, and what of it is told. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { openMailServer } from '../../test/support/mail-server.ts'
import { createMailer } from './mailer.ts'

const HOUR_MS = 3_600_000
const PATIENT = { connect_ms: 60_000, answer_ms: HOUR_MS, whole_ms: HOUR_MS }
const FROM = 'runyard@example.com'
const LETTER = { subject: 'Done', text: 'It is done.', html: '<p>It is done.</p>' }
const ENVELOPE = { to: 'lena@example.com', delivery_id: 'd1', run_id: 'r1', page: 'https://runs.example/w' }

/** Accepts letters, but never comes to the end of saying so. */
async function openEndless() {
  const connected = Promise.withResolvers<Socket>()
  const accepting = Promise.withResolvers<void>()
  const server = createServer((socket) => {
    connected.resolve(socket)
    let read = ''
    socket.on('error', () => {})
    socket.setEncoding('utf8').on('data', (data: string) => {
      read += data
      if (read.endsWith('\r\n.\r\n')) {
        accepting.resolve()
        const lines = setInterval(() => socket.write('250-still looking\r\n'), 20)
        socket.on('close', () => clearInterval(lines))
      } else if (data === 'DATA\r\n') socket.write('354 Go on\r\n')
      else if (/^(EHLO|MAIL|RCPT)/.test(data)) socket.write('250 OK\r\n')
    })
    socket.write('220 mail.example\r\n')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    server,
    url: `smtp://127.0.0.1:${port}`,
    connected: connected.promise,
    accepting: accepting.promise,
  }
}

test('a server may take longer to accept a letter than to be connected to', async () => {
  const connect_ms = 2_000
  const mail = await openMailServer({ accept_after_ms: connect_ms + 500 })
  try {
    const send = createMailer({ smtp_url: mail.url, from: FROM }, { ...PATIENT, connect_ms })
    assert.equal((await send(LETTER, ENVELOPE)).error, null)
    assert.equal(mail.received.length, 1)
  } finally {
    await mail.close()
  }
})

test('a password goes to another machine over TLS alone', async () => {
  const mail = await openMailServer()
  try {
    // Leads to this machine, and is not known to.
    const smtp_url = mail.url.replace('127.0.0.1', '0.0.0.0')
    const { error } = await createMailer({ smtp_url, from: FROM })(LETTER, ENVELOPE)
    assert.equal(error, 'The connection to the mail server could not be encrypted.')
    assert.equal((await createMailer({ smtp_url: mail.url, from: FROM })(LETTER, ENVELOPE)).error, null)
    assert.deepEqual([mail.logins.length, mail.received.length], [1, 1])
  } finally {
    await mail.close()
  }
})

test('a letter ends, with its connection, at its limit or with whoever sends it', async () => {
  for (const ended_by of ['limit', 'sender']) {
    const mail = await openEndless()
    const sender = new AbortController()
    try {
      const whole_ms = ended_by === 'limit' ? 2_000 : HOUR_MS
      const send = createMailer({ smtp_url: mail.url, from: FROM }, { ...PATIENT, whole_ms })
      const sending = send(LETTER, ENVELOPE, sender.signal)
      await mail.accepting
      const socket = await mail.connected
      const closed = new Promise((resolve) => socket.once('close', resolve))
      if (ended_by === 'sender') sender.abort()
      assert.match((await sending).error ?? '', /^The mail server took too long/)
      await closed
    } finally {
      mail.server.close()
    }
  }
})
