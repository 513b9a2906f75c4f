import { execFile, execFileSync, spawn } from 'node:child_process'
import {
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

export interface PostgresServer {
  /** Of its superuser, on the database `postgres`. */
  url: string
  port: number
  /** Where its data and its configuration are. */
  data: string
  /** Replaces the rules that say who may connect how, and waits until they count. `runyard` is let in by the last one. */
  setRules(rules: readonly string[]): Promise<void>
  /** Stops every process of the server where it stands; what is sent to it waits. */
  freeze(): void
  thaw(): void
  /** Ends it without warning to anybody; `revive` starts it again on what it had committed. */
  crash(): Promise<void>
  revive(): Promise<void>
  stop(): Promise<void>
  /** The same at once, for when this process ends. */
  kill(): void
}

/** The newest installed server's binaries; `null` when this machine has none. */
export function findPostgres(): string | null {
  const root = '/usr/lib/postgresql'
  const versions = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : []
  return (
    versions.map((version) => join(root, version, 'bin')).find((bin) => existsSync(join(bin, 'initdb'))) ??
    null
  )
}

const MEMORY = '/dev/shm'
const PLENTY_BYTES = 4 * 1024 ** 3

/** In memory where there is plenty: each of hundreds of databases is hundreds of files, which some disks are slow to make. */
function placeOfFiles(): string {
  const { bavail, bsize } = existsSync(MEMORY) ? statfsSync(MEMORY) : { bavail: 0, bsize: 0 }
  return bavail * bsize > PLENTY_BYTES ? MEMORY : tmpdir()
}

/** A cluster of its own on a free port, as the user `postgres` when started by root (the server refuses root). */
export async function startPostgres(options: { without_extensions?: boolean } = {}): Promise<PostgresServer> {
  const bin = findPostgres()
  if (!bin) throw new Error('PostgreSQL is not installed: scripts/setup-debian.sh postgres')
  const directory = mkdtempSync(join(placeOfFiles(), 'runyard-postgres-'))
  const asRoot = process.getuid?.() === 0
  const owner = asRoot ? { uid: idOf('-u'), gid: idOf('-g') } : {}
  if (asRoot) chownSync(directory, idOf('-u'), idOf('-g'))
  const data = join(directory, 'data')
  await run(
    join(bin, 'initdb'),
    ['-D', data, '-U', 'runyard', '--auth=trust', '--no-sync', '-E', 'UTF8', '--locale=C.UTF-8'],
    {
      ...owner,
      cwd: directory,
    },
  )
  const port = await freePort()
  // Durability is not what the tests of the service are about. A killed server still finds what it wrote: the machine goes on.
  const settings = [
    'fsync=off',
    'synchronous_commit=off',
    'full_page_writes=off',
    'autovacuum=off',
    'jit=off',
    'max_connections=200',
    'listen_addresses=127.0.0.1',
    `unix_socket_directories=${directory}`,
  ]
  const start = async () => {
    const words = [
      join(bin, 'postgres'),
      ...['-D', data, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])],
    ]
    const [program = '', ...args] = options.without_extensions ? hideExtensions(bin, words) : words
    const server = spawn(program, args, {
      ...(options.without_extensions ? {} : owner),
      cwd: directory,
      stdio: ['ignore', 'ignore', 'ignore'],
    })
    const ended = new Promise<void>((resolve) => server.once('exit', () => resolve()))
    for (const deadline = Date.now() + 30_000; ; ) {
      const ready = await run(join(bin, 'pg_isready'), ['-h', '127.0.0.1', '-p', String(port)]).then(
        () => true,
        () => false,
      )
      if (ready) break
      if (Date.now() > deadline || server.exitCode !== null) throw new Error('PostgreSQL did not start.')
    }
    const { pid } = server
    if (pid === undefined) throw new Error('PostgreSQL has no pid.')
    // Else it would keep a process that has nothing else to do.
    server.unref()
    return {
      pid,
      async end(signal: NodeJS.Signals) {
        server.ref()
        server.kill(signal)
        await ended
      },
    }
  }
  let server = await start()
  return {
    url: `postgres://runyard@127.0.0.1:${port}/postgres`,
    port,
    data,
    async setRules(rules) {
      const loaded = async () => {
        const query = ['-h', '127.0.0.1', '-p', String(port), '-U', 'runyard', '-d', 'postgres', '-Atc']
        return (await run(join(bin, 'psql'), [...query, 'select pg_conf_load_time()'])).stdout
      }
      const before = await loaded()
      const ours = 'host all runyard 127.0.0.1/32 trust'
      writeFileSync(join(data, 'pg_hba.conf'), [...rules, ours, ''].join('\n'))
      process.kill(server.pid, 'SIGHUP')
      for (const deadline = Date.now() + 30_000; (await loaded()) === before; )
        if (Date.now() > deadline) throw new Error('PostgreSQL did not read its rules.')
    },
    // The postmaster first: it would start what we have not stopped yet.
    freeze: () => signalAll([server.pid, ...childrenOf(server.pid)], 'SIGSTOP'),
    thaw: () => signalAll([server.pid, ...childrenOf(server.pid)], 'SIGCONT'),
    crash: () => server.end('SIGQUIT'),
    async revive() {
      server = await start()
    },
    async stop() {
      // Fast shutdown: open connections are closed.
      await server.end('SIGINT')
      rmSync(directory, { recursive: true, force: true })
    },
    kill() {
      signalAll([server.pid], 'SIGQUIT')
      // Its processes may still write while they end.
      rmSync(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
    },
  }
}

/** In a mount namespace of its own, where no extension is installed; for root only. */
function hideExtensions(bin: string, words: readonly string[]): string[] {
  const folder = join(
    execFileSync(join(bin, 'pg_config'), ['--sharedir'], { encoding: 'utf8' }).trim(),
    'extension',
  )
  const user = [`--reuid=${idOf('-u')}`, `--regid=${idOf('-g')}`, '--clear-groups', '--']
  const script = `mount -t tmpfs none '${folder}' && exec setpriv ${user.join(' ')} "$@"`
  return ['unshare', '--mount', '--propagation', 'private', 'sh', '-c', script, 'sh', ...words]
}

function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal)
    } catch {
      // A connection's process that ended just now.
    }
  }
}

const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)

const idOf = (flag: '-u' | '-g'): number =>
  Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }))

export async function freePort(): Promise<number> {
  const probe = createServer()
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve))
  const address = probe.address()
  await new Promise((resolve) => probe.close(resolve))
  if (typeof address !== 'object' || !address) throw new Error('No port could be had.')
  return address.port
}
