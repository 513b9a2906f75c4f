import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { type Context, readUntil } from './context.ts'
import { broken, brokenBy, held, type Probe, type Verdict } from './probe.ts'
import { uniqueName } from './processes.ts'

/** A listener on the host that counts who comes. */
export async function listen(context: Context, where: { host: string } | { path: string }) {
  const counter = { connections: 0, port: 0 }
  const server = createServer((socket) => {
    counter.connections++
    socket.on('error', () => {})
    socket.end(context.canary)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen('path' in where ? where : { port: 0, ...where }, resolve)
  })
  context.after(() => new Promise((resolve) => server.close(resolve)))
  const address = server.address()
  counter.port = typeof address === 'object' && address ? address.port : 0
  return counter
}

const addresses = (family: 'IPv4' | 'IPv6', internal: boolean): string[] =>
  Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .filter(
      (entry) => entry.family === family && entry.internal === internal && !entry.address.startsWith('fe80'),
    )
    .map(({ address }) => address)

/** Errors that say that nothing left the sandbox; a timeout or a refusal would mean that somebody was asked. */
export const NOTHING_LEFT = /(ENETUNREACH|EHOSTUNREACH|EADDRNOTAVAIL|EAFNOSUPPORT|EPERM|EACCES|ENOENT)$/

/** Broken when a connection arrived, or when the attempt got anywhere. */
async function reach(
  context: Context,
  targets: string[],
  counters: Array<{ connections: number }> = [],
): Promise<Verdict> {
  const lines = (await context.perl('connect.pl', targets)).trim().split('\n')
  const arrived = counters.reduce((sum, { connections }) => sum + connections, 0)
  if (arrived > 0) return broken(`${arrived} connections`)
  // On its own loopback a sandbox may ask: nobody is there.
  return brokenBy(
    lines.filter(
      (line) =>
        (!NOTHING_LEFT.test(line) &&
          !/:(127\.0\.0\.1|::1|\S*):\d+ ECONNREFUSED$|^abstract:\S+ ECONNREFUSED$/.test(line)) ||
        / (connected|sent)$/.test(line),
    ),
    lines.map((line) => line.split(' ').at(-1)).join(),
  )
}

/** Addresses that answer, or swallow, on many machines. Whoever has no network gets ENETUNREACH at once. */
const OUTSIDE: Array<[name: string, tries: string, targets: string[]]> = [
  [
    'metadata',
    'asks the metadata service of the cloud',
    ['tcp:169.254.169.254:80', 'tcp6:fd00:ec2::254:80', 'tcp:100.100.100.200:80'],
  ],
  [
    'dns',
    'asks name servers, by UDP and TCP',
    ['udp:8.8.8.8:53', 'udp:1.1.1.1:53', 'tcp:8.8.8.8:53', 'udp:127.0.0.53:53'],
  ],
  ['internet', 'connects to the internet', ['tcp:1.1.1.1:443', 'tcp6:2606:4700:4700::1111:443']],
  [
    'multicast',
    'talks to its neighbours by broadcast and multicast',
    ['udp:224.0.0.251:5353', 'udp:239.255.255.250:1900', 'udp:255.255.255.255:9'],
  ],
]

export const NETWORK: Probe[] = [
  {
    id: 'network.none-loopback',
    tries: 'connects to a service on the loopback address of the host, with no network granted',
    short: true,
    async run(context) {
      const counter = await listen(context, { host: '127.0.0.1' })
      return reach(
        context,
        [`tcp:127.0.0.1:${counter.port}`, `tcp:127.1.2.3:${counter.port}`, `tcp:0.0.0.0:${counter.port}`],
        [counter],
      )
    },
  },
  {
    id: 'network.none-loopback-ipv6',
    tries: 'connects to a service on ::1 of the host, with no network granted',
    short: true,
    async run(context) {
      const counter = await listen(context, { host: '::1' })
      return reach(context, [`tcp6:::1:${counter.port}`, `tcp6:::ffff:127.0.0.1:${counter.port}`], [counter])
    },
  },
  {
    id: 'network.none-addresses',
    tries:
      'connects to a service on every address of the host, the gateway of Docker included, with no network granted',
    short: true,
    async run(context) {
      const [four, six] = [await listen(context, { host: '0.0.0.0' }), await listen(context, { host: '::' })]
      const targets = [
        ...addresses('IPv4', false).map((address) => `tcp:${address}:${four.port}`),
        ...addresses('IPv6', false).map((address) => `tcp6:${address}:${six.port}`),
        ...['172.17.0.1', '172.18.0.1', '10.0.2.2'].map((address) => `tcp:${address}:${four.port}`),
      ]
      return reach(context, targets, [four, six])
    },
  },
  ...OUTSIDE.map(
    ([name, tries, targets]): Probe => ({
      id: `network.none-${name}`,
      tries: `${tries}, with no network granted`,
      short: true,
      async run(context) {
        const lines = (await context.perl('connect.pl', targets)).trim().split('\n')
        return brokenBy(
          lines.filter(
            (line) =>
              !NOTHING_LEFT.test(line) &&
              !/^udp:127.*ECONNREFUSED$/.test(line) &&
              !/^udp:127.* sent$/.test(line),
          ),
          'nothing left the sandbox',
        )
      },
    }),
  ),
  {
    id: 'network.none-interfaces',
    tries: 'finds a network interface besides its own loopback, with no network granted',
    short: true,
    async run(context) {
      const { stdout } = await context.run('tail -n +3 /proc/net/dev | cut -d: -f1')
      const names = stdout.trim().split(/\s+/)
      if (!names.includes('lo')) throw new Error('could not run')
      return brokenBy(
        names.filter((name) => name !== 'lo'),
        'lo',
      )
    },
  },
  {
    id: 'network.none-abstract-socket',
    tries: 'connects to an abstract Unix socket of the host, with no network granted',
    short: true,
    async run(context) {
      const name = uniqueName()
      const counter = await listen(context, { path: `\0${name}` })
      return reach(context, [`abstract:${name}`], [counter])
    },
  },
  {
    id: 'network.none-other-sandbox',
    tries: 'connects to what another sandbox listens on: loopback and abstract sockets',
    short: true,
    async run(context) {
      const name = uniqueName()
      const victim = await context.create()
      const handle = victim.exec({ command: listenInside(name) })
      context.after(() => handle.kill())
      const port = /port (\d+)/.exec(await readUntil(handle, /port \d+ /))?.[1]
      if (!port) throw new Error('could not run')
      const said = await context.perl('connect.pl', [`tcp:127.0.0.1:${port}`, `abstract:${name}`])
      return brokenBy(
        said.split('\n').filter((line) => line.endsWith(' connected')),
        'nobody is there',
      )
    },
  },
  {
    id: 'network.open-abstract-socket',
    tries: 'connects to an abstract Unix socket of the service’s user, with the network open',
    short: true,
    async run(context) {
      const name = uniqueName()
      const counter = await listen(context, { path: `\0${name}` })
      const sandbox = await context.create({ egress: 'open' })
      await context.perl('connect.pl', [`abstract:${name}`], { sandbox })
      return counter.connections > 0 ? broken('it was connected to') : held('it is not there')
    },
  },
  {
    id: 'network.open-loopback',
    tries: 'connects to a service on the loopback address of the host, with the network open',
    short: true,
    async run(context) {
      // One of the loopback addresses that nobody else has, so that no stray client of another test counts.
      const host = `127.${randomInt(1, 255)}.${randomInt(1, 255)}.${randomInt(1, 255)}`
      const counter = await listen(context, { host })
      const sandbox = await context.create({ egress: 'open' })
      await context.perl('connect.pl', [`tcp:${host}:${counter.port}`], { sandbox })
      return counter.connections > 0 ? broken('it was connected to') : held('it is not there')
    },
  },
  {
    id: 'network.open-host-addresses',
    tries: 'connects to a service on the other addresses of the host, with the network open',
    async run(context) {
      const counter = await listen(context, { host: '0.0.0.0' })
      const sandbox = await context.create({ egress: 'open' })
      const targets = [...addresses('IPv4', false), '172.17.0.1', '10.0.2.2'].map(
        (address) => `tcp:${address}:${counter.port}`,
      )
      await context.perl('connect.pl', targets, { sandbox })
      return counter.connections > 0 ? broken(`${counter.connections} connections`) : held('nobody came')
    },
  },
  {
    id: 'network.open-other-sandbox',
    tries: 'connects to what another sandbox listens on, both with the network open',
    async run(context) {
      const name = uniqueName()
      const [victim, sandbox] = [
        await context.create({ egress: 'open' }),
        await context.create({ egress: 'open' }),
      ]
      const handle = victim.exec({ command: listenInside(name) })
      context.after(() => handle.kill())
      const text = await readUntil(handle, /port \d+ .*\n/)
      const [, port, own] = /port (\d+) (.*)\n/.exec(text) ?? []
      if (!port) throw new Error(`could not run: ${text}`)
      const hosts = ['127.0.0.1', ...(own ?? '').split(' ').filter((word) => /^\d+(\.\d+){3}$/.test(word))]
      const said = await context.perl(
        'connect.pl',
        [...hosts.map((host) => `tcp:${host}:${port}`), `abstract:${name}`],
        { sandbox },
      )
      return brokenBy(
        said.split('\n').filter((line) => line.endsWith(' connected')),
        `nobody is at ${hosts}`,
      )
    },
  },
  {
    id: 'network.open-metadata',
    tries: 'asks the metadata service of the cloud, with the network open',
    shut: 'not every machine has one',
    async run(context) {
      const sandbox = await context.create({ egress: 'open' })
      const said = await context.perl('connect.pl', ['tcp:169.254.169.254:80'], { sandbox })
      return said.includes(' connected') ? broken('it answers') : held(said.trim())
    },
  },
]

/** Listens on every address and on an abstract socket, and prints its port and addresses. */
export const listenInside = (name: string): string => `perl -MSocket -e '
  $| = 1; socket my $tcp, AF_INET, SOCK_STREAM, 0; bind $tcp, pack_sockaddr_in(0, INADDR_ANY); listen $tcp, 5;
  socket my $unix, AF_UNIX, SOCK_STREAM, 0; bind $unix, pack "S a*", AF_UNIX, "\\0${name}"; listen $unix, 5;
  my ($port) = unpack_sockaddr_in(getsockname $tcp);
  open my $file, "<", "/proc/net/fib_trie"; my %own = map { /(\\d+\\.\\d+\\.\\d+\\.\\d+)/ ? ($1 => 1) : () } <$file>;
  print "port $port @{[keys %own]}\\n"; sleep 60'`
