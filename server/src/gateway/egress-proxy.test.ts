import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { type ClientRequest, createServer, type IncomingMessage, request, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { createEgressProxy } from './egress-proxy.ts'
import type { Refusal } from './gateway.ts'

describe('the proxy of a sandbox', () => {
  const directory = mkdtempSync(join(tmpdir(), 'runyard-proxy-'))
  const path = join(directory, 'proxy')
  const refusals: Refusal[] = []
  /** What reached the servers behind it: `METHOD path host body`. */
  const arrived: string[] = []
  let web: Server
  let secure: Server
  let proxy: Server
  let port: number
  let secure_port: number

  const listen = async (server: { listen(port: number, done: () => void): unknown; address(): unknown }) => {
    await new Promise<void>((resolve) => server.listen(0, resolve))
    return (server.address() as AddressInfo).port
  }
  const reasons = () => refusals.splice(0).map(({ host, port: to, reason }) => `${host}:${to} ${reason}`)

  before(async () => {
    const serve = createServer((incoming, response) => {
      let body = ''
      incoming.on('data', (data) => {
        body += data
      })
      incoming.on('end', () => {
        arrived.push(`${incoming.method} ${incoming.url} ${incoming.headers.host} ${body}`)
        if (incoming.url === '/headers') return response.end(JSON.stringify(incoming.rawHeaders))
        if (incoming.url === '/away')
          return response.writeHead(302, { location: 'http://other.example/' }).end()
        if (incoming.url === '/empty') return response.writeHead(204, { 'x-kept': 'yes' }).end()
        response.end(`seen ${body}`)
      })
    })
    web = serve
    port = await listen(web)
    const [key, cert] = [join(directory, 'key'), join(directory, 'cert')]
    execFileSync(
      'openssl',
      ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost'].concat([
        '-keyout',
        key,
        '-out',
        cert,
      ]),
      { stdio: 'ignore' },
    )
    secure = createTlsServer({ key: readFileSync(key), cert: readFileSync(cert) }, (_, response) =>
      response.end('over TLS'),
    )
    secure_port = await listen(secure)
    proxy = createEgressProxy(
      {
        hosts: ['localhost', '127.0.0.1', `closed.localhost`, `localhost:1`],
        private_hosts: [`localhost:${port}`, `localhost:${secure_port}`, 'localhost:1'],
      },
      (refusal) => refusals.push(refusal),
    )
    await new Promise<void>((resolve) => proxy.listen(path, resolve))
  })
  after(() => {
    for (const server of [web, secure, proxy]) server.close()
    for (const server of [web, secure, proxy]) server.closeAllConnections()
    rmSync(directory, { recursive: true })
  })

  /** Sends the bytes as they are; everything that comes back until it is closed. */
  const send = (text: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect(path, () => socket.write(text))
      let answer = ''
      socket.on('data', (data) => {
        answer += data
      })
      socket.on('close', () => resolve(answer))
      socket.on('error', reject)
    })
  const get = (url: string, headers = 'Connection: close\r\n') =>
    send(`GET ${url} HTTP/1.1\r\nHost: ${URL.parse(url)?.host}\r\n${headers}\r\n`)

  /** A tunnel, once it is open. */
  const tunnel = (authority: string): Promise<{ status: number; message: string; socket: Socket }> =>
    new Promise((resolve, reject) => {
      const asked = request({ socketPath: path, method: 'CONNECT', path: authority, agent: false })
      asked.on('error', reject)
      asked.on('connect', ({ statusCode = 0, statusMessage = '' }, socket) =>
        resolve({ status: statusCode, message: statusMessage, socket }),
      )
      asked.end()
    })
  const overTls = async (servername: string): Promise<string> => {
    const { status, socket } = await tunnel(`localhost:${secure_port}`)
    assert.equal(status, 200)
    return new Promise((resolve) => {
      const client = connectTls({ socket, servername, rejectUnauthorized: false }, () =>
        client.write('GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n'),
      )
      let answer = ''
      client.on('data', (data) => {
        answer += data
      })
      client.on('error', () => resolve('closed'))
      client.on('close', () => resolve(answer || 'closed'))
    })
  }

  test('passes requests on with their bodies, and answers with theirs', async () => {
    const url = `http://localhost:${port}`
    assert.match(
      await send(
        `POST ${url}/x?y=1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody`,
      ),
      /^HTTP\/1\.1 200 OK\r\n[\s\S]*seen body/,
    )
    assert.equal(arrived.at(-1), `POST /x?y=1 localhost:${port} body`)
    const chunked = 'Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n4\r\nlong\r\n0\r\n\r\n'
    assert.match(await send(`PUT ${url}/z HTTP/1.1\r\nHost: localhost\r\n${chunked}`), /seen long/)
    assert.match(await get(`${url}/empty`), /^HTTP\/1\.1 204 No Content\r\n(.*\r\n)*x-kept: yes\r\n/i)
    assert.match(
      await send(`HEAD ${url}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`),
      /200 OK[\s\S]*\r\n\r\n$/,
    )
    assert.deepEqual(reasons(), [])
  })

  test('keeps what concerns the connection, and sends the host that was judged', async () => {
    const answer = await get(
      `http://localhost:${port}/headers`,
      'Proxy-Authorization: Basic x\r\nX-Private: 1\r\nConnection: close, x-private\r\nTE: trailers\r\nX-Passed: 1\r\n',
    )
    assert.match(answer, /"X-Passed","1"/)
    assert.doesNotMatch(answer, /proxy-authorization|x-private|"te"/i)
    await send(
      `GET http://localhost:${port}/named HTTP/1.1\r\nHost: other.example\r\nConnection: close\r\n\r\n`,
    )
    assert.equal(arrived.at(-1), `GET /named localhost:${port} `)
  })

  test('a redirect is the client’s to follow, and is judged like everything', async () => {
    assert.match(await get(`http://localhost:${port}/away`), /location: http:\/\/other\.example\//i)
    assert.match(
      await get('http://other.example/'),
      /^HTTP\/1\.1 403 Refused by the network policy: the environment/,
    )
    assert.deepEqual(reasons(), ['other.example:80 not_listed'])
  })

  test('TLS goes through when it asks for the host that was judged', async () => {
    assert.match(await overTls('localhost'), /over TLS/)
    assert.deepEqual(reasons(), [])
  })

  test('TLS that asks for another host, or for none, does not', async () => {
    assert.equal(await overTls('other.example'), 'closed')
    assert.deepEqual(reasons(), [`localhost:${secure_port} server_name`])
    assert.equal(await overTls(''), 'closed')
    assert.deepEqual(reasons(), [`localhost:${secure_port} server_name`])
  })

  test('what only looks like TLS ends', async () => {
    for (const bytes of ['160301', '16030100050100000100', `1603014000${'00'.repeat(0x4000)}`]) {
      const { socket } = await tunnel(`localhost:${secure_port}`)
      socket.end(Buffer.from(bytes, 'hex'))
      socket.resume()
      socket.on('error', () => {})
      await new Promise((resolve) => socket.once('close', resolve))
    }
    reasons()
    assert.match(await overTls('localhost'), /over TLS/)
  })

  test('plain HTTP in a tunnel is read like any other', async () => {
    const within = async (host: string) => {
      const { socket } = await tunnel(`localhost:${port}`)
      socket.write(`GET /within HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
      let answer = ''
      for await (const data of socket) answer += data
      return answer
    }
    assert.match(await within(`localhost:${port}`), /200 OK/)
    assert.equal(arrived.at(-1), `GET /within localhost:${port} `)
    assert.match(await within('other.example'), /^HTTP\/1\.1 403/)
    assert.deepEqual(reasons(), [`localhost:${port} server_name`])
    // Another port of the same host gains nothing: the tunnel leads where it was opened to.
    assert.match(await within(`localhost:${secure_port}`), /200 OK/)
  })

  test('names that are not public, addresses and other ports are refused', async () => {
    for (const [authority, reason] of [
      ['localhost:443', 'localhost:443 not_public'],
      ['LOCALHOST.:80', 'localhost:80 not_public'],
      ['127.0.0.1:443', '127.0.0.1:443 no_name'],
      ['2130706433:443', '127.0.0.1:443 no_name'],
      ['0x7f000001:80', '127.0.0.1:80 no_name'],
      ['[::1]:443', '::1:443 not_listed'],
      ['localhost:5432', 'localhost:5432 port'],
      ['localhost.evil.example:443', 'localhost.evil.example:443 not_listed'],
    ] as const) {
      const { status, message, socket } = await tunnel(authority)
      socket.destroy()
      assert.equal(status, 403, authority)
      assert.match(message, /^Refused by the network policy: /)
      assert.deepEqual(reasons(), [reason])
    }
  })

  test('an allowed host that does not answer is no refusal', async () => {
    const { status, message } = await tunnel('localhost:1')
    assert.deepEqual([status, message], [502, 'localhost:1 could not be reached.'])
    assert.match(await get('http://closed.localhost.invalid/'), /403/)
    reasons()
  })

  test('what is no request to a proxy gets 400', async () => {
    for (const text of [
      'GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
      `GET https://localhost/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
      `GET ftp://localhost/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
      'CONNECT localhost HTTP/1.1\r\nHost: localhost\r\n\r\n',
      'CONNECT / HTTP/1.1\r\nHost: localhost\r\n\r\n',
      'SSH-2.0-OpenSSH_9\r\n',
      // Two lengths: what is the next request would be a matter of taste.
      `POST http://localhost:${port}/ HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      `GET http://localhost:${port}/ HTTP/1.1\r\nHost: x\r\nX: ${'a'.repeat(70_000)}\r\n\r\n`,
    ])
      assert.match(await send(text), /^HTTP\/1\.1 4\d\d /, text.slice(0, 60))
    assert.deepEqual(reasons(), [])
  })

  test('a body stays a body, whatever its request says of its length', async () => {
    const hidden = 'GET /hidden HTTP/1.1\r\nHost: other.example\r\n\r\n'
    const length = hidden.length
    for (const method of ['GET', 'DELETE', 'HEAD', 'POST'])
      for (const [headers, body] of [
        ['Transfer-Encoding: chunked', `${length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`],
        [`Content-Length: ${length}`, hidden],
        [`Content-Length: ${length}\r\nConnection: content-length`, hidden],
        [
          `Transfer-Encoding: chunked\r\nConnection: transfer-encoding`,
          `${length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`,
        ],
      ] as const) {
        const seen = arrived.length
        await send(
          `${method} http://localhost:${port}/body HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${headers}\r\n\r\n${body}`,
        )
        assert.deepEqual(
          arrived.slice(seen),
          [`${method} /body localhost:${port} ${hidden}`],
          `${method} ${headers}`,
        )
      }
  })

  test('a server that answers early and closes is heard', async () => {
    const early = createTcpServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () =>
        socket.end('HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n', () => socket.destroy()),
      )
    })
    const at = await listen(early)
    const { status } = await through(
      at,
      (asked) => {
        asked.on('error', () => {})
        asked.end(Buffer.alloc(4_000_000))
      },
      'PUT',
    )
    assert.equal(status, 413)
    early.close()
  })

  test('a server that changes the protocol is not followed', async () => {
    for (const more of ['Connection: Upgrade\r\nUpgrade: x\r\n', '']) {
      const changing = createTcpServer((socket) => {
        socket.on('error', () => {})
        socket.once('data', () => socket.write(`HTTP/1.1 101 Switching Protocols\r\n${more}\r\nanything`))
      })
      const at = await listen(changing)
      assert.equal((await through(at, (asked) => asked.end())).status, 502)
      changing.close()
    }
  })

  test('a connection that asks for more than anybody waits for is closed, and a tunnel leads to one place', async () => {
    const silent = createTcpServer((socket) => socket.resume().on('error', () => {}))
    const at = await listen(silent)
    const own = await ownProxy(at)
    const socket = connect(own.path)
    socket.on('error', () => {})
    socket.write(`GET http://localhost:${at}/ HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(17))
    await new Promise((resolve) => socket.once('close', resolve))
    const tunnelled = await tunnel(`localhost:${port}`)
    tunnelled.socket.write(`CONNECT localhost:${port} HTTP/1.1\r\n\r\n`)
    let answer = ''
    for await (const data of tunnelled.socket) answer += data
    assert.match(answer, /^HTTP\/1\.1 400 /)
    own.close()
    silent.close()
  })

  test('an answer that is cut off is cut off here too, and the next is not', async () => {
    const breaking = createTcpServer((socket) => {
      socket.on('error', () => {})
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf', () => socket.destroy())
    })
    const at = await listen(breaking)
    for (const _ of [1, 2]) assert.equal((await through(at, (asked) => asked.end())).is_whole, false)
    breaking.close()
  })

  /** A proxy for one port of this machine. */
  async function ownProxy(at: number): Promise<{ path: string; close(): void }> {
    const own = createEgressProxy(
      { hosts: [`localhost:${at}`], private_hosts: [`localhost:${at}`] },
      () => {},
    )
    const place = join(directory, `own-${at}`)
    await new Promise<void>((resolve) => own.listen(place, resolve))
    return {
      path: place,
      close() {
        own.close()
        own.closeAllConnections()
      },
    }
  }

  /** One request to that port. */
  async function through(at: number, write: (asked: ClientRequest) => void, method = 'GET') {
    const own = await ownProxy(at)
    const asked = request({ socketPath: own.path, path: `http://localhost:${at}/`, method, agent: false })
    const [response] = (await Promise.all([once(asked, 'response'), write(asked)]))[0] as [IncomingMessage]
    const is_whole = await new Promise<boolean>((resolve) => {
      response.on('error', () => resolve(false))
      response.on('end', () => resolve(true))
      response.resume()
    })
    own.close()
    return { status: response.statusCode, is_whole }
  }

  test('a connection on which nothing moves is closed on both sides', async () => {
    const upstream: Socket[] = []
    // It says nothing, whatever it is asked.
    const silent = createTcpServer((socket) => void upstream.push(socket.resume()))
    const silent_port = await listen(silent)
    const rules = { hosts: ['localhost'], private_hosts: [`localhost:${silent_port}`] }
    const own = createEgressProxy(rules, () => {}, null, null, 50)
    const own_path = join(directory, 'idle')
    await new Promise<void>((resolve) => own.listen(own_path, resolve))
    try {
      const tunnelled = connect(own_path)
      tunnelled.write(`CONNECT localhost:${silent_port} HTTP/1.1\r\n\r\n`)
      await once(tunnelled, 'data')
      // Begins TLS, and is never answered.
      connectTls({ socket: tunnelled, servername: 'localhost' }).on('error', () => {})
      await once(tunnelled, 'close')
      const plain = request({ socketPath: own_path, path: `http://localhost:${silent_port}/`, agent: false })
      const [answer] = (await once(plain.end(), 'response')) as [IncomingMessage]
      assert.equal(answer.resume().statusCode, 502)
      for (const socket of upstream) if (!socket.destroyed) await once(socket, 'close')
    } finally {
      for (const socket of upstream) socket.destroy()
      own.close()
      silent.close()
    }
  })
})
