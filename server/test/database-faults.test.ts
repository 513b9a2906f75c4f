/** What every role says about a PostgreSQL that it cannot work with: one line that names the fix, and no password. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, readFileSync, statSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, connect, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { AppError } from '../src/contract/error.ts'
import { migrateDatabase, readConfig, startServe, startWorkerRole, withKeys } from '../src/main.ts'
import { until } from './support/cluster.ts'
import { runCommand } from './support/command.ts'
import { findPostgres, freePort, type PostgresServer, startPostgres } from './support/postgres-server.ts'
import { spawnRunyard, temporaryDirectory } from './support/service.ts'

const skip = findPostgres() ? false : 'PostgreSQL is not installed'
const PASSWORD = 'p#ss/w@rd'
const WITH_PASSWORD = `login:${encodeURIComponent(PASSWORD)}`

const RULES = [
  'host all login 127.0.0.1/32 scram-sha-256',
  'host all old_hash 127.0.0.1/32 md5',
  'host all plain 127.0.0.1/32 password',
  'host all rejected 127.0.0.1/32 reject',
  'host all nobody 127.0.0.1/32 trust',
  'host all no_login 127.0.0.1/32 trust',
  'host all guest 127.0.0.1/32 trust',
  'host all by_ident 127.0.0.1/32 ident',
  'hostssl all encrypted 127.0.0.1/32 trust',
]
const SETUP = [
  `create role login login password '${PASSWORD}'`,
  `set password_encryption = md5; create role old_hash login password '${PASSWORD}'`,
  `create role plain login password '${PASSWORD}'`,
  'create role rejected login',
  'create role no_login',
  'create role guest login',
  'create role by_ident login',
  'create role encrypted login',
  'create database theirs',
  "create database latin encoding 'SQL_ASCII' locale 'C' template template0",
  'create database newer',
]

describe('PostgreSQL that', { skip }, () => {
  let server: PostgresServer
  const helpers: Server[] = []
  const ports: Record<string, number> = {}

  before(async () => {
    server = await startPostgres()
    for (const statement of SETUP) await ask('postgres', statement)
    await ask(
      'newer',
      'create table migrations (name text); ' + "insert into migrations values ('9999_later')",
    )
    const [cert, key] = ['server.crt', 'server.key'].map((name) => join(server.data, name)) as [
      string,
      string,
    ]
    const subject = ['-subj', '/CN=127.0.0.1', '-days', '2']
    execFileSync(
      'openssl',
      ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', cert, ...subject],
      { stdio: 'ignore' },
    )
    const { uid, gid } = statSync(server.data)
    for (const file of [cert, key]) {
      chownSync(file, uid, gid)
      chmodSync(file, 0o600)
    }
    await ask('postgres', 'alter system set ssl = on')
    await server.setRules(RULES)
    ports.nothing = await freePort()
    ports.silent = await open(createServer(() => {}))
    ports.http = await open(createHttpServer((_, response) => response.end('hello')))
    // The same server, said to be older.
    ports.older = await open(
      createServer((client) => {
        const upstream = connect(server.port, '127.0.0.1')
        for (const socket of [client, upstream])
          socket
            .on('error', () => {})
            .on('close', () => {
              client.destroy()
              upstream.destroy()
            })
        client.pipe(upstream)
        upstream.on('data', (data) =>
          client.write(Buffer.from(data.toString('latin1').replace(/1[4-9](\d{4})/, '13$1'), 'latin1')),
        )
      }),
    )
  })
  after(async () => {
    for (const helper of helpers) helper.close()
    await server?.stop()
  })

  async function ask(database: string, statement: string): Promise<void> {
    const client = new pg.Client({
      connectionString: `postgres://runyard@127.0.0.1:${server.port}/${database}`,
    })
    await client.connect()
    await client.query(statement).finally(() => client.end())
  }

  async function open(helper: Server): Promise<number> {
    helpers.push(helper)
    await new Promise<void>((resolve) => helper.listen(0, '127.0.0.1', resolve))
    return (helper.address() as AddressInfo).port
  }

  const configOf = (url: string) =>
    readConfig({
      DATABASE_URL: url,
      RUNYARD_DATA_DIR: temporaryDirectory('faults'),
      RUNYARD_PORT: '0',
      RUNYARD_SANDBOX: 'bubblewrap',
      RUNYARD_ALLOW_WEAK_LIMITS: '1',
      RUNYARD_LOG_LEVEL: 'silent',
    })
  const at = (user: string, database = 'postgres', port: string | number = server.port): string =>
    `postgres://${user}@127.0.0.1:${ports[port] ?? port}/${database}`

  /** `url` is read once the server is up. */
  interface Fault {
    name: string
    url: () => string
    says: RegExp
    /** `serve` and `worker` wait instead of ending. */
    waits?: true
    /** Only what changes the database meets it. */
    migrate_only?: true
  }
  const FAULTS: Fault[] = [
    {
      name: 'wants a password where there is none (SCRAM)',
      url: () => at('login'),
      says: /has none: write .* PGPASSWORD/,
    },
    {
      name: 'wants a password where there is none (MD5)',
      url: () => at('old_hash'),
      says: /DATABASE_URL has none/,
    },
    {
      name: 'wants a password where there is none (clear text)',
      url: () => at('plain'),
      says: /DATABASE_URL has none/,
    },
    { name: 'refuses the password', url: () => at('login:wrong-secret'), says: /refuses user or password/ },
    { name: 'does not know the user', url: () => at('nobody'), says: /no such user.*create role/ },
    { name: 'does not let the user log in', url: () => at('no_login'), says: /may not log in/ },
    { name: 'rejects by rule', url: () => at('rejected'), says: /pg_hba\.conf.*add one/ },
    { name: 'has no rule', url: () => at('unheard_of'), says: /pg_hba\.conf.*add one/ },
    { name: 'takes only TLS', url: () => at('encrypted'), says: /hostssl.*sslmode=verify-full/ },
    { name: 'asks an ident server', url: () => at('by_ident'), says: /another proof than a password/ },
    {
      name: 'has a certificate of its own making',
      url: () => `${at('encrypted')}?sslmode=require`,
      says: /certificate that is not trusted.*sslrootcert/,
    },
    {
      name: 'is asked with a file that is not there',
      url: () => `${at('login')}?sslmode=verify-full&sslrootcert=/nowhere.pem`,
      says: /file that DATABASE_URL names/,
    },
    {
      name: 'has no such database',
      url: () => at('runyard', 'nowhere'),
      says: /create database NAME owner USER/,
    },
    {
      name: 'keeps another encoding',
      url: () => at('runyard', 'latin'),
      says: /SQL_ASCII.*encoding 'UTF8' template template0/,
    },
    {
      name: 'is too old',
      url: () => at('runyard', 'postgres', 'older'),
      says: /PostgreSQL at \S+ 14 or later is needed, and this is 13/,
    },
    {
      name: 'was migrated by a newer version',
      url: () => at('runyard', 'newer'),
      says: /newer version \(9999_later\)/,
    },
    {
      name: 'does not let the user make tables',
      url: () => at('guest', 'theirs'),
      says: /must own the database.*alter database/,
      migrate_only: true,
    },
    {
      name: 'is not there',
      url: () => at('runyard', 'postgres', 'nothing'),
      says: /does not listen there: start it/,
      waits: true,
    },
    {
      name: 'is not known by name',
      url: () => 'postgres://runyard@nowhere.invalid/x',
      says: /host name .* not known/,
      waits: true,
    },
    {
      name: 'has no socket',
      url: () => 'postgres://runyard@/x?host=/nowhere',
      says: /no socket there/,
      waits: true,
    },
    {
      name: 'says nothing',
      url: () => at('runyard', 'postgres', 'silent'),
      says: /does not answer/,
      waits: true,
    },
    {
      name: 'is something else',
      url: () => at('runyard', 'postgres', 'http'),
      says: /something else than PostgreSQL/,
      waits: true,
    },
  ]

  /** What every one of them says, in a line that anybody may read over one's shoulder. */
  function assertSays(detail: string, fault: Fault): void {
    assert.match(detail, fault.says)
    assert.doesNotMatch(detail, /\n|wrong-secret|p#ss|SASL|undefined|\[object/)
  }

  for (const fault of FAULTS) {
    test(`${fault.name}${fault.waits ? ' is waited for' : ' is not worked with'}`, async () => {
      const refuses = (code: string) => (error: unknown) => {
        assert(error instanceof AppError, String(error))
        assert.equal(error.code, code)
        assertSays(error.detail, fault)
        return true
      }
      const options = { config: configOf(fault.url()) }
      const refused = refuses(fault.waits ? 'resource_unavailable' : 'invalid_request')
      await assert.rejects(migrateDatabase(options), refused)
      if (fault.migrate_only) return
      await assert.rejects(
        withKeys(options, (keys) => keys.list()),
        refused,
      )
      if (!fault.waits) {
        await assert.rejects(startServe(options), refused)
        await assert.rejects(startWorkerRole(options), refused)
        return
      }
      const serve = await startServe(options)
      try {
        assertSays(serve.missing ?? '', fault)
        const answer = await fetch(new URL('/readyz', serve.base_url))
        const { reason, ready } = (await answer.json()) as { reason: string; ready: boolean }
        assert.deepEqual([answer.status, ready], [503, false])
        assertSays(reason, fault)
        assert.doesNotMatch(reason, /postgres:|runyard@/)
      } finally {
        await serve.stop()
      }
      const leaving = new AbortController()
      const waits = startWorkerRole({
        ...options,
        signal: leaving.signal,
        onWait: (missing) => {
          assertSays(missing, fault)
          leaving.abort()
        },
      })
      await assert.rejects(waits, { name: 'AbortError' })
    })
  }

  for (const args of [['migrate'], ['keys', 'list'], ['serve', '--port', '0'], ['worker']]) {
    test(`ends \`runyard ${args.join(' ')}\` with one line where a password is missing`, async () => {
      const env = { DATABASE_URL: at('login'), RUNYARD_DATA_DIR: temporaryDirectory('faults') }
      const { code, stderr } = await runCommand(args, env)
      assert.equal(code, 2)
      assert.match(
        stderr,
        /^error: PostgreSQL at postgres:\/\/login@127\.0\.0\.1:\d+\/postgres asks for a password[^\n]*\n$/,
      )
    })
  }

  test('takes the right password, whatever characters it has', async () => {
    await ask('postgres', 'create database ours owner login')
    const config = configOf(at(WITH_PASSWORD, 'ours'))
    assert((await migrateDatabase({ config })).length > 0)
    assert.deepEqual(await withKeys({ config }, (keys) => keys.list()), [])
  })

  test('comes late: `serve` says that it listens and what it waits for, `worker` waits, and both go on', async () => {
    await ask('postgres', 'create database late')
    const url = at('runyard', 'late')
    const env = {
      DATABASE_URL: url,
      RUNYARD_DATA_DIR: temporaryDirectory('late'),
      RUNYARD_ALLOW_WEAK_LIMITS: '1',
    }
    await server.crash()
    const serve = spawnRunyard(['serve', '--port', '0'], env)
    const worker = spawnRunyard(['worker', '--sandbox', 'bubblewrap'], env)
    const printed = (child: { log(): string }, pattern: RegExp) =>
      until(String(pattern), () => pattern.exec(child.log()))
    try {
      const [, base_url] = await printed(
        serve,
        /^Listening on (\S+), not ready: PostgreSQL at \S+ does not listen there/m,
      )
      await printed(worker, /^Waiting: PostgreSQL at \S+ does not listen there/m)
      const ready = async () => (await fetch(new URL('/readyz', base_url))).status
      assert.equal(await ready(), 503)
      await server.revive()
      await printed(
        serve,
        /"msg":"PostgreSQL at \S+ has no tables of this version yet: run `runyard migrate`\."/,
      )
      await printed(worker, /^Waiting: PostgreSQL at \S+ has no tables/m)
      assert.equal(await ready(), 503)
      await migrateDatabase({ config: configOf(url) })
      await printed(serve, /"msg":"The database is there again\."/)
      await printed(worker, /^Working for the pool default/m)
      assert.equal(await ready(), 200)
    } finally {
      for (const child of [serve, worker]) {
        const ended = new Promise((resolve) => child.once('exit', resolve))
        child.kill('SIGTERM')
        assert.equal(await ended, 0, child.log())
      }
    }
  })
})

const as_root = process.getuid?.() === 0 ? skip : 'hiding extensions needs root'
test('PostgreSQL without pg_trgm is told from one that refuses it', { skip: as_root }, async () => {
  const server = await startPostgres({ without_extensions: true })
  try {
    const config = readConfig({ DATABASE_URL: server.url, RUNYARD_DATA_DIR: temporaryDirectory('faults') })
    await assert.rejects(migrateDatabase({ config }), (error: unknown) => {
      assert(error instanceof AppError, String(error))
      assert.match(error.detail, /lacks the extension pg_trgm: install/)
      return true
    })
  } finally {
    await server.stop()
  }
})

test('docs/postgresql.md makes the database as printed', { skip }, async () => {
  const page = readFileSync(new URL('../../docs/postgresql.md', import.meta.url), 'utf8')
  const block = (name: string): string => {
    const found = new RegExp(`<!-- test: ${name} -->\n\`\`\`sh\n([\\s\\S]*?\n)\`\`\``).exec(page)?.[1]
    assert(found, name)
    return found
  }
  const server = await startPostgres()
  try {
    // The page's superuser; its role has the name that the test's superuser has.
    const at = (user: string) => `postgres://${user}@127.0.0.1:${server.port}/postgres`
    const say = async (user: string, statement: string): Promise<void> => {
      const client = new pg.Client({ connectionString: at(user) })
      await client.connect()
      await client.query(statement).finally(() => client.end())
    }
    await say('runyard', 'create role postgres superuser login')
    await server.setRules([
      'host all postgres 127.0.0.1/32 trust',
      'host runyard runyard 127.0.0.1/32 scram-sha-256',
    ])
    await say('postgres', 'alter role runyard rename to testing')
    const sh = (script: string): string =>
      execFileSync('bash', ['-euo', 'pipefail', '-c', script], {
        encoding: 'utf8',
        cwd: fileURLToPath(new URL('../../', import.meta.url)),
        env: {
          PATH: process.env.PATH,
          HOME: temporaryDirectory('home'),
          RUNYARD_DATA_DIR: temporaryDirectory('faults'),
          PGHOST: '127.0.0.1',
          PGPORT: String(server.port),
          PGUSER: 'postgres',
        },
      })
    sh(block('sql'))
    const printed = sh(block('migrate').replace('localhost:5432', `127.0.0.1:${server.port}`))
    assert.match(printed, /^Applied 0001_init\n/)
    assert.match(printed, /"api_key":"ry_\w+"/)
  } finally {
    await server.stop()
  }
})
