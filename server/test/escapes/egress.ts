import { hostname, networkInterfaces } from 'node:os'
import type { Sandbox } from '../../src/sandbox/sandbox.ts'
import { type Context, readUntil } from './context.ts'
import { listen, listenInside, NOTHING_LEFT } from './network.ts'
import { broken, brokenBy, held, type Probe, type Verdict } from './probe.ts'
import { uniqueName } from './processes.ts'

const PROXY = 'tcp:127.0.0.1:3128'
const shut = 'the host backend has no proxy'

/** What an attacker may have put on the list of allowed hosts, in the hope that it leads to the machine itself. */
const LISTED = [
  'localhost',
  '*.localhost',
  'ip6-localhost',
  '127.0.0.1',
  '10.0.2.2',
  '169.254.169.254',
  'example.com',
]

/** Sends to the proxy what would bring it to a listener of the machine; broken when anybody came there. */
async function trick(context: Context, requests: (port: number) => string[]): Promise<Verdict> {
  const [four, six] = [await listen(context, { host: '0.0.0.0' }), await listen(context, { host: '::1' })]
  const listed = [...LISTED, hostname()].flatMap((host) => [four, six].map(({ port }) => `${host}:${port}`))
  const sandbox = await context.createListed([...LISTED, hostname(), ...listed])
  const said = await context.perl(
    'proxy.pl',
    [four, six].flatMap(({ port }) => requests(port)),
    { sandbox },
  )
  const arrived = four.connections + six.connections
  if (arrived > 0) return broken(`${arrived} connections: ${said}`)
  const answers = said.trim().split('\n')
  return brokenBy(
    answers.filter((line) => / 200 |canary/.test(line)),
    `${answers.length} refused`,
  )
}

export const EGRESS: Probe[] = [
  {
    id: 'egress.direct',
    tries:
      'leaves the sandbox past the proxy: addresses, name servers, IPv6, the metadata service, the gateway of Docker',
    short: true,
    shut,
    async run(context) {
      const counter = await listen(context, { host: '0.0.0.0' })
      const own = Object.values(networkInterfaces())
        .flatMap((list) => list ?? [])
        .filter(({ family }) => family === 'IPv4')
        .map(({ address }) => `tcp:${address}:${counter.port}`)
      const sandbox = await context.createListed(['example.com'])
      const said = await context.perl(
        'connect.pl',
        [
          ...own,
          ...['tcp:1.1.1.1:443', 'tcp6:2606:4700:4700::1111:443', 'udp:8.8.8.8:53', 'tcp:8.8.8.8:53'],
          ...['tcp:169.254.169.254:80', 'tcp6:fd00:ec2::254:80', 'tcp:172.17.0.1:22', 'tcp:10.0.2.2:80'],
          PROXY,
        ],
        { sandbox },
      )
      const lines = said.trim().split('\n')
      if (!lines.includes(`${PROXY} connected`)) throw new Error(`could not run: ${said}`)
      if (counter.connections > 0) return broken(`${counter.connections} connections`)
      return brokenBy(
        lines.filter(
          (line) =>
            !line.startsWith(PROXY) && !NOTHING_LEFT.test(line) && !/:127\.\S+ ECONNREFUSED$/.test(line),
        ),
        'only the proxy is there',
      )
    },
  },
  {
    id: 'egress.connect-tricks',
    tries: 'has the proxy connect to the machine, by every way to write its addresses',
    short: true,
    shut,
    run: (context) =>
      trick(context, (port) =>
        [
          ...['localhost', 'localhost.', 'LOCALHOST', 'a.localhost', 'ip6-localhost', hostname()],
          ...['127.0.0.1', '127.1', '0', '0.0.0.0', '2130706433', '0x7f000001', '0177.0.0.1', '0x7f.1'],
          ...['[::1]', '[::]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[64:ff9b::7f00:1]', '10.0.2.2'],
          ...[
            '１２７.0.0.1',
            '127。0。0。1',
            'example.com@localhost',
            'example.com:80@localhost',
            'localhost%00.example.com',
          ],
          ...[
            'example.com#@localhost',
            'example.com\\@localhost',
            '127.0.0.1.nip.io',
            'localhost,example.com',
          ],
        ].map((host) => `CONNECT ${host}:${port} HTTP/1.1\\r\\nHost: example.com\\r\\n\\r\\n`),
      ),
  },
  {
    id: 'egress.request-tricks',
    tries:
      'has the proxy send requests to the machine: absolute addresses, another Host, smuggled and pipelined requests, upgrades',
    short: true,
    shut,
    run: (context) =>
      trick(context, (port) => {
        const rest = ' HTTP/1.1\\r\\nHost: example.com\\r\\n'
        return [
          `GET http://localhost:${port}/${rest}\\r\\n`,
          `GET http://example.com@localhost:${port}/${rest}\\r\\n`,
          `GET http://127.1:${port}/${rest}\\r\\n`,
          `GET http://[::ffff:127.0.0.1]:${port}/${rest}\\r\\n`,
          `GET https://localhost:${port}/${rest}\\r\\n`,
          `GET /${rest.replace('example.com', `localhost:${port}`)}\\r\\n`,
          `GET http:localhost:${port}/${rest}\\r\\n`,
          `GET //localhost:${port}/${rest}\\r\\n`,
          `GET ws://localhost:${port}/${rest}Connection: Upgrade\\r\\nUpgrade: websocket\\r\\n\\r\\n`,
          `GET http://localhost:${port}/${rest}X: y\\r\\n\\r\\nGET http://localhost:${port}/${rest}\\r\\n`,
          `POST http://nowhere.invalid/${rest}Content-Length: 4\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n0\\r\\n\\r\\nGET http://localhost:${port}/${rest}\\r\\n`,
          `CONNECT nowhere.invalid:443${rest}\\r\\nGET http://localhost:${port}/${rest}\\r\\n`,
          `OPTIONS * HTTP/1.1\\r\\nHost: localhost:${port}\\r\\n\\r\\n`,
          `PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n`,
        ]
      }),
  },
  {
    id: 'egress.service',
    tries: 'asks the service, its database and Docker through the proxy',
    short: true,
    shut,
    async run(context) {
      const ports = [22, 2375, 2376, 4200, 5432, 6379, 8080]
      const sandbox = await context.createListed(['localhost', ...ports.map((port) => `localhost:${port}`)])
      const said = await context.perl(
        'proxy.pl',
        ports.map((port) => `CONNECT localhost:${port} HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n`),
        { sandbox },
      )
      return brokenBy(
        said
          .trim()
          .split('\n')
          .filter((line) => !line.includes(' 403 ')),
        `${ports.length} refused`,
      )
    },
  },
  {
    id: 'egress.sockets',
    tries: 'finds the sockets of the gateway, or the process that leads there',
    short: true,
    shut,
    async run(context) {
      const sandbox = await context.createListed(['example.com'])
      const { stdout } = await context.run(
        `ls -d /tmp/runyard-gateway-* /run/runyard* 2>/dev/null
        for file in /proc/[0-9]*/cmdline; do tr '\\0' ' ' < $file | grep -a -E 'socat|gateway-process'; done
        grep -a runyard-gateway /proc/net/unix; echo done`,
        { sandbox },
      )
      if (!stdout.endsWith('done\n')) throw new Error(`could not run: ${stdout}`)
      return brokenBy(
        stdout.split('\n').filter((line) => line !== 'done' && line !== '' && !line.includes('grep')),
        'nothing of them is seen',
      )
    },
  },
  {
    id: 'egress.other-sandbox',
    tries: 'reaches what another sandbox listens on, both with a proxy',
    short: true,
    shut,
    async run(context) {
      const name = uniqueName()
      const victim = await context.createListed(['localhost'])
      const handle = victim.exec({ command: listenInside(name) })
      context.after(() => handle.kill())
      const port = /port (\d+)/.exec(await readUntil(handle, /port \d+ /))?.[1]
      if (!port) throw new Error('could not run')
      const sandbox = await context.createListed(['localhost', `localhost:${port}`])
      const direct = await context.perl('connect.pl', [`tcp:127.0.0.1:${port}`, `abstract:${name}`], {
        sandbox,
      })
      const proxied = await context.perl('proxy.pl', [`CONNECT localhost:${port} HTTP/1.1\\r\\n\\r\\n`], {
        sandbox,
      })
      return brokenBy(
        `${direct}${proxied}`.split('\n').filter((line) => / connected$| 200 /.test(line)),
        'nobody is there',
      )
    },
  },
  {
    id: 'egress.flood',
    tries: 'takes all connections of the proxy, and those of other sandboxes with them',
    shut,
    async run(context) {
      const [attacker, neighbour] = [await context.createListed([]), await context.createListed([])]
      const flood = attacker.exec({
        command: `perl -MSocket -e '$| = 1; for (1 .. 180) { socket my $s, AF_INET, SOCK_STREAM, 0 or last;
          connect $s, pack_sockaddr_in(3128, INADDR_LOOPBACK) or last; syswrite $s, "GET http://a"; push @all, $s }
          print "open @{[scalar @all]}\\n"; sleep 60'`,
      })
      context.after(() => flood.kill())
      const opened = await readUntil(flood, /open \d+\n/)
      const ask = (sandbox: Sandbox) =>
        context.perl('proxy.pl', ['GET http://other.example/ HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n'], { sandbox })
      const answer = await ask(neighbour)
      return answer.includes(' 403 ') ? held(`${opened.trim()}, the neighbour was answered`) : broken(answer)
    },
  },
]
