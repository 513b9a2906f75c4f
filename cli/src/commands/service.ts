import type { Command } from 'commander'
import { resolvePath } from '../current-process.ts'
import { usageFailure } from '../failure.ts'
import { port } from '../option-values.ts'
import { openOutput } from '../output.ts'
import { loadRole, loadService, runRole, settingsOf } from '../role.ts'
import { TLS_CERT, TLS_KEY, tlsOf } from '../tls-options.ts'

interface ServeOptions {
  port?: number
  host?: string
  tlsCert?: string
  tlsKey?: string
}

interface WorkerOptions {
  pool?: string
  sandbox?: 'docker' | 'bubblewrap' | 'kubernetes' | 'host'
  server?: string
  poolKey?: string
  poolKeyFile?: string
}

function serverAddress(text: string): string {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol))
    throw usageFailure(`--server: ${text} is no http or https address.`)
  return text.replace(/(\/api\/v1)?\/*$/, '')
}

/** `serve`, `worker`, `migrate`: the parts of an installation on PostgreSQL. */
export function addServiceCommands(program: Command): void {
  program
    .command('serve')
    .summary('start the API on PostgreSQL')
    .description('Starts the API on the PostgreSQL of DATABASE_URL. Workers are started apart.')
    .option('-p, --port <port>', 'port to listen on, 0 for any free one (RUNYARD_PORT; default 4200)', port)
    .option('--host <address>', 'address to listen on (RUNYARD_HOST; default 127.0.0.1)')
    .option(...TLS_CERT)
    .option(...TLS_KEY)
    .action(async ({ port, host, ...files }: ServeOptions) => {
      const tls = tlsOf(files)
      const { startServe } = await loadRole()
      const options = {
        ...settingsOf(),
        ...(port === undefined ? {} : { port }),
        ...(host === undefined ? {} : { host }),
        ...(tls === undefined ? {} : { tls }),
      }
      const output = openOutput({ format: 'text' })
      await runRole(
        () => startServe(options),
        ({ base_url, missing }) =>
          output.note(`Listening on ${base_url}${missing === null ? '' : `, not ready: ${missing}`}`),
      )
    })

  program
    .command('worker')
    .summary('start a worker')
    .description(
      'Starts a worker that executes the runs of a pool: on the PostgreSQL of DATABASE_URL, or, with --server and a pool key, over HTTPS.',
    )
    .option('--pool <name>', 'pool to work for (RUNYARD_POOL; default "default")')
    .option(
      '--sandbox <backend>',
      'where commands run: docker, bubblewrap, kubernetes or host (RUNYARD_SANDBOX)',
    )
    .option('--server <url>', 'work over HTTPS for this server (RUNYARD_SERVER)', serverAddress)
    .option('--pool-key-file <file>', 'file with the pool key for --server (RUNYARD_POOL_KEY_FILE)')
    .option(
      '--pool-key <key>',
      'the pool key itself, which other users of the machine can see (RUNYARD_POOL_KEY)',
    )
    .action(async ({ pool, sandbox, server, poolKey, poolKeyFile }: WorkerOptions) => {
      const { startWorkerRole } = await loadRole()
      const options = {
        ...settingsOf(),
        ...(pool === undefined ? {} : { pool }),
        ...(sandbox === undefined ? {} : { sandbox }),
        ...(server === undefined ? {} : { server }),
        ...(poolKey === undefined ? {} : { pool_key: poolKey }),
        ...(poolKeyFile === undefined ? {} : { pool_key_file: resolvePath(poolKeyFile) }),
      }
      const output = openOutput({ format: 'text' })
      await runRole(
        (signal) =>
          startWorkerRole({ ...options, signal, onWait: (missing) => output.note(`Waiting: ${missing}`) }),
        (worker) =>
          output.note(`Working for the pool ${worker.pool}. Sandbox: ${worker.sandbox_description}`),
      )
    })

  program
    .command('migrate')
    .summary('bring the database up to date')
    .description('Brings the database of DATABASE_URL, or of the data directory, up to date.')
    .action(async () => {
      const { migrateDatabase } = await loadService()
      const output = openOutput({ format: 'text' })
      const done = await migrateDatabase(settingsOf())
      for (const name of done) output.line(`Applied ${name}`)
      if (done.length === 0) output.line('The database is up to date.')
    })
}
