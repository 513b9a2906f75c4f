import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import dns from 'node:dns'
import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import { syncBuiltinESMExports } from 'node:module'
import type { AddressInfo } from 'node:net'
import { after, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { makeCertificate } from '../../test/support/certificate.ts'
import { createCheckedFetch, type FetchLimits, whyNeverAsked } from './checked-fetch.ts'
import { Refused, Unreachable } from './dial.ts'
import type { RefusalReason } from './gateway.ts'
import { describeFailure } from './git-answers.ts'

const FILE = fileURLToPath(new URL('./checked-fetch.ts', import.meta.url))

const answers: Record<string, (response: ServerResponse, request: IncomingMessage) => void> = {
  '/plain?x=1': (response, { method, headers }) => {
    response.setHeader('set-cookie', ['a=1', 'b=2'])
    response.end(JSON.stringify({ method, said: headers['x-said'] }))
  },
  '/echo': (response, request) => void request.pipe(response),
  '/none': (response) => void response.writeHead(204).end(),
  '/away': (response) => void response.writeHead(302, { location: '/plain?x=1' }).end(),
  '/endless': (response) => {
    const more = () => {
      while (!response.destroyed && response.write('x'.repeat(16_384)));
    }
    response.on('drain', more)
    more()
  },
  '/silent': () => {},
  '/half': (response) => void response.write('half'),
  '/cut': (response) => {
    response.setHeader('content-length', '100')
    response.write('cut', () => response.destroy())
  },
  '/switch': (response) =>
    void response.socket?.end('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n'),
  '/odd': (response) => void response.socket?.end('HTTP/1.1 999 Odd\r\ncontent-length: 0\r\n\r\n'),
}

describe('the checked fetch', async () => {
  // A name of every machine, so that what is looked up is real.
  const { key, cert, cert_file } = makeCertificate('localhost')
  const asked: string[] = []
  const server = createServer({ key, cert }, (request, response) => {
    asked.push(request.url ?? '')
    answers[request.url ?? '']?.(response, request)
  })
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve))
  after(() => {
    server.close()
    server.closeAllConnections()
  })
  const host = `localhost:${(server.address() as AddressInfo).port}`
  const url = `https://${host}`
  const ca = readFileSync(cert_file, 'utf8')
  const rules = { hosts: [host], private_hosts: [host] }
  const fetchWith = (limits: FetchLimits = {}) => createCheckedFetch(rules, { ca, ...limits })
  const unreachable = (says: RegExp) => (error: unknown) =>
    error instanceof Unreachable && says.test(error.message)

  test('brings a request there and the whole answer back', async () => {
    const answer = await fetchWith()(`${url}/plain?x=1`, { headers: { 'x-said': 'hello' } })
    assert.equal(answer.status, 200)
    assert.deepEqual(answer.headers.getSetCookie(), ['a=1', 'b=2'])
    assert.deepEqual(await answer.json(), { method: 'GET', said: 'hello' })
    const echo = await fetchWith()(`${url}/echo`, { method: 'POST', body: 'größer' })
    assert.equal(await echo.text(), 'größer')
    assert.equal((await fetchWith()(`${url}/none`)).status, 204)
  })

  test('connects to the address that was checked, whatever the name has by then', async (t) => {
    t.mock.method(dns, 'lookup', (...args: unknown[]) => {
      const done = args.at(-1)
      if (typeof done === 'function') done(null, [{ address: '127.0.0.2', family: 4 }])
    })
    assert.equal((await fetchWith()(`${url}/plain?x=1`)).status, 200)
  })

  test('follows no redirect', async () => {
    asked.length = 0
    const answer = await fetchWith()(`${url}/away`)
    assert.deepEqual([answer.status, answer.headers.get('location')], [302, '/plain?x=1'])
    assert.deepEqual(asked, ['/away'])
  })

  test('says the same of an internal name that is there and of one that is not', async (t) => {
    const said = async (name: string): Promise<string> => {
      const asking = createCheckedFetch({ hosts: null, private_hosts: [] })(`https://${name}/`)
      const error: unknown = await asking.catch((error: unknown) => error)
      assert(error instanceof Refused)
      // The proxy answers refusals with a status of their own, and tells of them.
      return JSON.stringify([error.refusal, describeFailure(error)]).replaceAll(name, 'NAME')
    }
    const lookup = t.mock.method(dns.promises, 'lookup', async (name: string) => {
      if (name === 'there.internal') return [{ address: '10.1.2.3', family: 4 }]
      throw new Error('ENOTFOUND')
    })
    syncBuiltinESMExports()
    t.after(() => {
      lookup.mock.restore()
      syncBuiltinESMExports()
    })
    assert.equal(await said('there.internal'), await said('none.internal'))
    assert.match(await said('none.internal'), /Refused by the network policy: NAME has no public address/)
  })

  test('goes only where the rules allow, by https', async () => {
    const refusedFor = (reason: RefusalReason) => (error: unknown) =>
      error instanceof Refused && error.refusal.reason === reason
    asked.length = 0
    const reasons: [string[] | null, string[], string, RefusalReason][] = [
      [[], [host], url, 'not_listed'],
      // The name has a private address alone.
      [[host], [], url, 'not_public'],
      [null, [], 'https://localhost/', 'not_public'],
      [null, [], url, 'port'],
      [null, [], 'https://127.0.0.1/', 'no_name'],
      [null, [], 'https://2130706433/', 'no_name'],
      [null, [], 'https://[::1]/', 'no_name'],
      [null, [], 'https://169.254.169.254/', 'no_name'],
    ]
    for (const [hosts, private_hosts, to, reason] of reasons)
      await assert.rejects(createCheckedFetch({ hosts, private_hosts }, { ca })(to), refusedFor(reason), to)
    for (const to of [
      `http://${host}/`,
      `https://user@${host}/`,
      `https://:secret@${host}/`,
      'file:///etc/passwd',
      'nothing',
    ])
      await assert.rejects(fetchWith()(to), unreachable(/^Only https addresses/), to)
    assert.deepEqual(asked, [])
  })

  test('what it would never ask is known before', () => {
    const why = (text: string, private_hosts: string[] = []) =>
      whyNeverAsked({ hosts: null, private_hosts }, text, { plain: true })
    for (const allowed of ['https://example.com/', 'https://localhost.example.com/', 'https://notlocalhost/'])
      assert.equal(why(allowed), null)
    for (const own of ['https://localhost/', 'https://LOCALHOST./', 'https://a.b.localhost/'])
      assert.match(
        why(own) ?? '',
        /localhost has no public address .*, and RUNYARD_PRIVATE_HOSTS does not name/,
      )
    assert.equal(why('https://localhost/', ['localhost']), null)
    for (const [text, private_host] of [
      ['http://127.0.0.1/', '127.0.0.1'],
      ['https://127.0.0.1/', '127.0.0.1'],
      ['http://127.0.0.1:4419/', '127.0.0.1:4419'],
    ] as const)
      assert.equal(why(text, [private_host]), null)
    // Without a port a host is named for those of the web.
    assert.match(
      why('http://127.0.0.1:4419/', ['127.0.0.1']) ?? '',
      /without a port it stands for 80 and 443/,
    )
    assert.match(
      why('https://127.0.0.1:4419/', ['127.0.0.1']) ?? '',
      /port 4419 is not allowed, only 80 and 443/,
    )
    assert.match(why('https://127.0.0.1/') ?? '', /without a name/)
  })

  test('trusts nobody whose certificate is not trusted, or is for another name', async () => {
    await assert.rejects(createCheckedFetch(rules)(url), unreachable(/certificate that is not trusted/))
    const port = host.split(':')[1]
    const by_address = { hosts: null, private_hosts: [`127.0.0.1:${port}`] }
    const answer = createCheckedFetch(by_address, { ca })(`https://127.0.0.1:${port}/`)
    await assert.rejects(answer, unreachable(/certificate that is not trusted/))
  })

  test('trusts what NODE_EXTRA_CA_CERTS names', async () => {
    const program = `
      import { createCheckedFetch } from ${JSON.stringify(FILE)}
      const answer = await createCheckedFetch(${JSON.stringify(rules)})('${url}/plain?x=1')
      console.log(answer.status)`
    const args = ['--input-type=module', '-e', program]
    const env = { NODE_EXTRA_CA_CERTS: cert_file }
    assert.equal((await promisify(execFile)(process.execPath, args, { env })).stdout, '200\n')
  })

  test('takes the status for the answer where that is all that counts', async () => {
    const fetch = fetchWith({ limit_ms: 1_000, status_alone: true })
    for (const path of ['/endless', '/half', '/cut'])
      assert.equal((await fetch(`${url}${path}`)).status, 200, path)
    await assert.rejects(fetch(`${url}/silent`), unreachable(/did not answer in time/))
    await assert.rejects(fetch(`${url}/odd`), unreachable(/could not be reached/))
  })

  test('looks up as many names at once as it is allowed', async () => {
    const fetch = createCheckedFetch({ hosts: null, private_hosts: [] }, { max_lookups: 12 })
    const failures = await Promise.all(
      Array.from({ length: 13 }, (_, at) => fetch(`https://name-${at}.invalid/`).catch(String)),
    )
    assert.equal(failures.filter((text) => /Too many names/.test(String(text))).length, 1)
  })

  test('waits for no silent host, and reads no endless answer', async () => {
    for (const path of ['/silent', '/half'])
      await assert.rejects(
        fetchWith({ limit_ms: 300 })(`${url}${path}`),
        unreachable(/did not answer in time/),
      )
    await assert.rejects(fetchWith()(`${url}/endless`), unreachable(/more than 1048576 bytes/))
    for (const path of ['/cut', '/odd', '/switch'])
      await assert.rejects(
        fetchWith({ limit_ms: 2_000 })(`${url}${path}`),
        unreachable(/could not be reached/),
      )
  })

  test('a header that cannot be sent is never sent in half', async () => {
    asked.length = 0
    const headers = { authorization: 'Bearer x\r\nx-other: y' }
    await assert.rejects(fetchWith()(`${url}/plain?x=1`, { headers }), Unreachable)
    assert.deepEqual(asked, [])
  })
})
