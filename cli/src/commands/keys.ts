import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type Command, Option } from 'commander'
import type { KeyListing, Keys, NewKey } from '../../../server/src/main.ts'
import { hasConnection } from '../connection.ts'
import { currentProcess, resolvePath } from '../current-process.ts'
import { findEnding } from '../ending.ts'
import { CommandFailure, usageFailure } from '../failure.ts'
import { oneLine } from '../one-line.ts'
import { timeSpan } from '../option-values.ts'
import { openOutput } from '../output.ts'
import { remoteKeys } from '../remote-keys.ts'
import { loadService, settingsOf } from '../role.ts'
import { openSession } from '../session.ts'
import { WHOLE_ID } from '../short-id.ts'
import { formatTable } from '../table.ts'
import { formatAge } from '../time-text.ts'

interface KeyOptions {
  dataDir?: string
  baseUrl?: string
  apiKey?: string
  json?: boolean
}

interface CreateOptions extends KeyOptions {
  name: string
  role?: 'admin' | 'member' | 'viewer'
  pool?: string
  principal?: string
}

interface RotateOptions extends KeyOptions {
  grace?: number
}

/**
 * Keys are managed at the database itself, so that the first one can be made; beside a running `dev`, through its socket; and
 * over HTTP where another machine has the database.
 */
export function addKeyCommands(program: Command): void {
  const group = program
    .command('keys')
    .summary('make, list, rotate and revoke API keys')
    .description(
      'API keys, in the database of DATABASE_URL or of a data directory, also while `runyard dev` runs on it; where there is neither, or with --base-url or --api-key, those of the server that other commands use.',
    )
  const subcommand = (usage: string, description: string): Command =>
    group
      .command(usage)
      .description(description)
      .option('--data-dir <dir>', 'data directory (RUNYARD_DATA_DIR; default .runyard)')
      .option('--base-url <url>', 'address of the server (RUNYARD_BASE_URL)')
      .option('--api-key <key>', 'key for the server (RUNYARD_API_KEY)')
      .option('--json', 'print JSON')

  subcommand(
    'create',
    'Creates a key, and prints it this once. It is of a new principal, or one more of a principal that has keys.',
  )
    .requiredOption('--name <name>', 'what it is called, and a new principal with it')
    .addOption(
      new Option('--role <role>', 'what it may do (default: member)').choices(['admin', 'member', 'viewer']),
    )
    .addOption(
      new Option(
        '--pool <pool>',
        'make a pool key: workers claim runs of this pool with it (runyard worker --server), and it opens nothing else',
      ).conflicts('role'),
    )
    .option('--principal <id>', 'whose it is: a principal of `runyard keys list`')
    .action(async ({ name, role = 'member', pool, principal: principal_id, ...options }: CreateOptions) => {
      const right = pool === undefined ? { role } : { role: 'viewer' as const, pool }
      const made = await withKeys(options, (keys) => keys.create({ name, ...right, principal_id }))
      if (!made) throw unknown(`There is no principal ${principal_id}.`)
      printKey(made, options)
    })

  subcommand('list', 'Lists keys, masked, and whose they are.').action(async (options: KeyOptions) => {
    const keys = await withKeys(options, (all) => all.list())
    const output = openOutput({ format: options.json ? 'ndjson' : 'text' })
    if (options.json) return keys.forEach(output.json)
    if (keys.length === 0) return output.note('No keys. Make one: runyard keys create --name NAME')
    const columns = ['ID', 'NAME', 'ROLE', 'PRINCIPAL', 'KEY', 'LAST USED', 'STATE'].map((heading) => ({
      heading,
      flexible: heading === 'NAME',
      spare: ['ROLE', 'PRINCIPAL', 'KEY', 'LAST USED'].includes(heading),
    }))
    const rows = keys.map((key) => [
      output.id(key.key_id),
      key.name,
      key.pool === null ? key.role : `pool ${key.pool}`,
      output.id(key.principal_id),
      key.masked,
      key.last_used_at ? formatAge(key.last_used_at.toISOString()) : 'never',
      stateOf(key),
    ])
    output.line(formatTable(columns, rows, output.columns()))
  })

  subcommand(
    'rotate <key-id>',
    'Creates a key in place of another: of the same principal, role, name and expiry. The old one is revoked.',
  )
    .option('--grace <time>', 'let the old one work for that long, such as 24h', timeSpan)
    .action(async (key_id: string, { grace = 0, ...options }: RotateOptions) => {
      const made = await withKeys(options, async (keys) => keys.rotate(await findKey(keys, key_id), grace))
      if (!made) throw unknown(`There is no active key ${key_id}.`)
      printKey(made, options)
    })

  subcommand(
    'revoke <key-id>',
    'Revokes a key, at once. Its principal keeps its runs and its other keys.',
  ).action(async (key_id: string, options: KeyOptions) => {
    const done = await withKeys(options, async (keys) => keys.revoke(await findKey(keys, key_id)))
    if (!done) throw unknown(`There is no active key ${key_id}.`)
    const output = openOutput({ format: 'ndjson' })
    if (options.json) output.json({ key_id, revoked: true })
    else output.line(oneLine(`Revoked ${key_id}`))
  })
}

/** Rotating and revoking is not done by a text that might mean two. */
const findKey = async (keys: Keys, given: string): Promise<string> =>
  WHOLE_ID.test(given)
    ? given
    : findEnding(
        (await keys.list()).map(({ key_id }) => key_id),
        'key',
        given,
      )

const unknown = (message: string): CommandFailure =>
  new CommandFailure(message, { hint: '`runyard keys list` shows the ids' })

function printKey({ api_key, key_id, principal_id }: NewKey, options: KeyOptions): void {
  const output = openOutput({ format: 'ndjson' })
  if (options.json) output.json({ api_key, key_id, principal_id })
  else {
    output.line(oneLine(api_key))
    output.note('Shown this once; only its hash is stored.')
  }
}

function stateOf({ revoked_at, expires_at, grace_until }: KeyListing, now = Date.now()): string {
  if (revoked_at) return 'revoked'
  if (expires_at && expires_at.getTime() < now) return 'expired'
  if (!grace_until) return 'active'
  return grace_until.getTime() < now ? 'replaced' : `active until ${grace_until.toISOString()}`
}

/** Where the keys are: what is named first counts, and a data directory of this place more than a stored connection. */
async function withKeys<T>(options: KeyOptions, use: (keys: Keys) => Promise<T>): Promise<T> {
  if (isRemote(options)) return use(remoteKeys(openSession({ ...options, output: 'text' }).client))
  const { withKeys: useAtDatabase } = await loadService()
  return useAtDatabase(settingsOf(options), use)
}

function isRemote({ dataDir, baseUrl, apiKey }: KeyOptions): boolean {
  const own = currentProcess()
  const { env } = own
  if (baseUrl || apiKey) {
    if (dataDir === undefined) return true
    throw usageFailure('Give --data-dir, or where a server is, not both.')
  }
  if (dataDir !== undefined || env.DATABASE_URL || env.RUNYARD_DATA_DIR) return false
  if (env.RUNYARD_BASE_URL || env.RUNYARD_API_KEY) return true
  if (existsSync(resolvePath(join('.runyard', 'db')))) return false
  return hasConnection({ environment: env, directory: own.cwd() })
}
