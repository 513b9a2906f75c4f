import { resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { CommandFailure } from '../failure.ts'
import { openOutput } from '../output.ts'
import { loadService } from '../role.ts'
import { formatTable } from '../table.ts'
import { formatAge } from '../time-text.ts'

interface KeyOptions {
  dataDir?: string
  json?: boolean
}

interface CreateOptions extends KeyOptions {
  name: string
  role: 'admin' | 'member' | 'viewer'
}

/** Keys are managed at the database itself, so that the first one can be made; beside a running `dev`, through its socket. */
export function addKeyCommands(program: Command): void {
  const group = program
    .command('keys')
    .summary('make, list and revoke API keys')
    .description(
      'API keys, in the database of DATABASE_URL or of a data directory, also while `runyard dev` runs on it.',
    )
  const subcommand = (usage: string, description: string): Command =>
    group
      .command(usage)
      .description(description)
      .option('--data-dir <dir>', 'data directory (RUNYARD_DATA_DIR; default .runyard)')
      .option('--json', 'print JSON')

  subcommand('create', 'Creates a key for a new principal, and prints it this once.')
    .requiredOption('--name <name>', 'whose it is')
    .addOption(
      new Option('--role <role>', 'what it may do').choices(['admin', 'member', 'viewer']).default('member'),
    )
    .action(async ({ name, role, ...options }: CreateOptions) => {
      const { createKey } = await loadService()
      const { api_key, key_id } = await createKey({ ...roleOptions(options), name, role })
      const output = openOutput({ format: 'ndjson' })
      if (options.json) return output.json({ api_key, key_id })
      output.line(api_key)
      output.note('Shown this once; only its hash is stored.')
    })

  subcommand('list', 'Lists keys, masked.').action(async (options: KeyOptions) => {
    const { readKeys } = await loadService()
    const keys = await readKeys(roleOptions(options))
    const output = openOutput({ format: options.json ? 'ndjson' : 'text' })
    if (options.json) return keys.forEach(output.json)
    if (keys.length === 0) return output.note('No keys. Make one: runyard keys create --name NAME')
    const columns = ['ID', 'NAME', 'ROLE', 'KEY', 'LAST USED', 'STATE'].map((heading) => ({ heading }))
    const rows = keys.map((key) => [
      key.key_id,
      key.name,
      key.role,
      key.masked,
      key.last_used_at ? formatAge(key.last_used_at.toISOString()) : 'never',
      key.revoked_at
        ? 'revoked'
        : key.expires_at && key.expires_at.getTime() < Date.now()
          ? 'expired'
          : 'active',
    ])
    output.line(formatTable(columns, rows))
  })

  subcommand('revoke <key-id>', 'Revokes a key, at once.').action(
    async (key_id: string, options: KeyOptions) => {
      const { revoke } = await loadService()
      const done = await revoke({ ...roleOptions(options), key_id })
      if (!done)
        throw new CommandFailure(`There is no active key ${key_id}.`, {
          hint: '`runyard keys list` shows the ids',
        })
      const output = openOutput({ format: 'ndjson' })
      if (options.json) output.json({ key_id, revoked: true })
      else output.line(`Revoked ${key_id}`)
    },
  )
}

const roleOptions = ({ dataDir }: KeyOptions): { data_dir?: string } =>
  dataDir === undefined ? {} : { data_dir: resolve(dataDir) }
