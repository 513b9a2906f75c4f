import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { SMTPServer } from 'smtp-server'

export interface ReceivedMail {
  to: string[]
  source: string
}

/** A mail server on this machine, which knows one user; `refuse` answers for recipients that it does not take. */
export async function openMailServer({
  refuse = () => null,
  accept_after_ms = 0,
}: {
  refuse?: (address: string) => string | null
  accept_after_ms?: number
} = {}) {
  const received: ReceivedMail[] = []
  const logins: string[] = []
  const server = new SMTPServer({
    // Over a socket of this machine alone.
    ...{ allowInsecureAuth: true, disabledCommands: ['STARTTLS'], logger: false },
    onAuth({ username, password }, _session, done) {
      logins.push(username ?? '')
      if (username === 'sender' && password === 'pass word') done(null, { user: username })
      else done(new Error('Wrong user or password'))
    },
    onRcptTo({ address }, _session, done) {
      const why = refuse(address)
      done(why === null ? null : Object.assign(new Error(why), { responseCode: 550 }))
    },
    async onData(stream, { envelope }, done) {
      received.push({ to: envelope.rcptTo.map(({ address }) => address), source: await text(stream) })
      setTimeout(done, accept_after_ms)
    },
  })
  server.on('error', () => {})
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  const { port } = server.server.address() as AddressInfo
  return {
    ...{ received, logins },
    url: `smtp://sender:pass%20word@127.0.0.1:${port}`,
    wrong_url: `smtp://sender:guess@127.0.0.1:${port}`,
    close: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
}
