import type { GitAccess, RegistryAccess, Secret, SecretParams } from '@runyard/client'
import type { Command } from 'commander'
import type { Resealed } from '../../../server/src/main.ts'
import { CommandFailure, usageFailure } from '../failure.ts'
import { oneLine } from '../one-line.ts'
import { repeated } from '../option-values.ts'
import { openOutput } from '../output.ts'
import { readValue } from '../read-value.ts'
import { loadService, settingsOf } from '../role.ts'
import { formatFields } from '../run-text.ts'
import { addClientOptions, type ClientOptions, openSession } from '../session.ts'
import { formatTable } from '../table.ts'
import { formatAge } from '../time-text.ts'

interface ScopeOptions extends ClientOptions {
  personal?: boolean
}

interface SetOptions extends ScopeOptions {
  valueFrom?: string
  description?: string
  gitHost?: string
  repository?: string[]
  registry?: string
  username?: string
  readOnly?: boolean
  githubApp?: string
  installation?: string
}

interface RotateOptions {
  dataDir?: string
  json?: boolean
}

export function addSecretCommands(program: Command): void {
  const group = program
    .command('secret')
    .summary('set, list and delete secrets')
    .description('Secrets: variables for commands and tokens of git, which nobody can read back.')

  addClientOptions(
    group
      .command('set <name>')
      .description(
        'Sets a secret. Its value comes from a file or standard input, or is asked for; never from the command line.',
      )
      // A value there is refused with a reason, and not repeated.
      .allowExcessArguments()
      .option('--value-from <file>', 'file with the value, - for standard input')
      .option('--description <text>', 'what it is for')
      .option('--personal', 'for your own personal runs, not for the team')
      .option('--git-host <host>', 'it is a token of git for this host, and never enters a sandbox')
      .option(
        '--repository <owner/name>',
        'where the token may be used, or owner/*; repeat for more',
        repeated,
      )
      .option('--registry <host>', 'it is the password of --username at this registry of images')
      .option('--username <name>', 'what the host wants beside the token')
      .option('--read-only', 'the token is never used to push')
      .option('--github-app <id>', 'the value is the private key of this GitHub App; with --installation')
      .option('--installation <id>', 'its installation'),
  ).action(async (name: string, options: SetOptions, command: Command) => {
    requireName(name, command.args)
    const access = readAccess(options)
    const { client, output } = openSession(options)
    const value = await readValue(`Value of ${name}`, options.valueFrom)
    const secret = await client.secrets.put(name, {
      value,
      ...(options.description === undefined ? {} : { description: options.description }),
      ...access,
      ...scopeOf(options),
    })
    if (output.format !== 'text') return output.json(secret)
    output.line(`Set ${oneLine(secret.name)} (version ${secret.version})`)
  })

  addClientOptions(
    group.command('list').alias('ls').description('Lists secrets, without their values.'),
  ).action(async (options: ClientOptions) => {
    const { client, output } = openSession(options)
    const secrets = await Array.fromAsync(client.secrets.list())
    if (output.format === 'json') return output.json({ secrets })
    if (output.format === 'ndjson') return secrets.forEach(output.json)
    if (secrets.length === 0) return output.note('No secrets. Set one: runyard secret set NAME')
    const columns = [
      { heading: 'NAME' },
      { heading: 'OF' },
      { heading: 'USE', flexible: true },
      { heading: 'VERSION' },
      { heading: 'SET' },
    ]
    const rows = secrets.map((secret) => [
      secret.name,
      secret.scope.type === 'User' ? 'you' : secret.restricted ? 'those named' : 'team',
      useOf(secret),
      String(secret.version),
      formatAge(secret.last_updated),
    ])
    output.line(formatTable(columns, rows, output.columns()))
  })

  addClientOptions(
    group
      .command('show <name>')
      .description('Shows a secret, without its value.')
      .option('--personal', 'your own one, not that of the team'),
  ).action(async (name: string, options: ScopeOptions) => {
    const { client, output } = openSession(options)
    const secret = await client.secrets.get(name, scopeOf(options))
    if (output.format !== 'text') return output.json(secret)
    const fields = [
      ['secret', secret.name],
      ['for', secret.description],
      ['of', secret.scope.type === 'User' ? 'you' : 'team'],
      ['use', useOf(secret)],
      ['version', String(secret.version)],
      ['set', formatAge(secret.last_updated)],
    ] as const
    output.line(formatFields(fields, output))
  })

  addClientOptions(
    group
      .command('delete <name>')
      .alias('rm')
      .description('Deletes a secret. Its value is gone for good.')
      .option('--personal', 'your own one, not that of the team'),
  ).action(async (name: string, options: ScopeOptions) => {
    const { client, output } = openSession(options)
    const secret = await client.secrets.delete(name, scopeOf(options))
    if (output.format !== 'text') return output.json(secret)
    output.line(`Deleted ${oneLine(secret.name)}`)
  })

  group
    .command('rotate-key')
    .description(
      'Seals what is encrypted with a key of RUNYARD_OLD_SECRET_KEYS with the key of RUNYARD_SECRET_KEY, in the database of DATABASE_URL or of a data directory. Stopped, it goes on when it is called again.',
    )
    .option('--data-dir <dir>', 'data directory (RUNYARD_DATA_DIR; default .runyard)')
    .option('--json', 'print JSON')
    .action(async ({ json, ...options }: RotateOptions) => {
      const { rotateSecretKey } = await loadService()
      const resealed = await rotateSecretKey(settingsOf(options))
      const output = openOutput({ format: json ? 'ndjson' : 'text' })
      if (json) output.json(resealed)
      else output.line(describe(resealed))
      if (resealed.unreadable.length > 0) throw unreadable(resealed)
      if (!json) output.note('Nothing is left that another key opens: RUNYARD_OLD_SECRET_KEYS can go.')
    })
}

function requireName(name: string, args: readonly string[]): void {
  if (name.includes('=') || args.length > 1) {
    throw usageFailure(
      'A value does not belong on the command line: other users see it there, and the shell keeps it.',
      'give it on standard input, with --value-from FILE, or when you are asked; set another one if it was real',
    )
  }
}

function readAccess(options: SetOptions): { git?: GitAccess; registry?: RegistryAccess } {
  const { gitHost: host, repository: repositories, username, readOnly, githubApp, installation } = options
  if (Boolean(githubApp) !== Boolean(installation))
    throw usageFailure('--github-app and --installation go together.')
  if (options.registry !== undefined) {
    if (host || repositories || readOnly || githubApp)
      throw usageFailure('--registry goes with --username, and with nothing that is for git.')
    if (!username) throw usageFailure('--registry needs --username.')
    return { registry: { host: options.registry, username } }
  }
  if (host === undefined) {
    if (repositories || username || readOnly || githubApp)
      throw usageFailure('--repository, --username, --read-only and --github-app need --git-host.')
    return {}
  }
  return {
    git: {
      host,
      ...(repositories ? { repositories } : {}),
      ...(username ? { username } : {}),
      ...(readOnly ? { read_only: true } : {}),
      ...(githubApp && installation ? { app: { app_id: githubApp, installation_id: installation } } : {}),
    },
  }
}

const scopeOf = ({ personal }: ScopeOptions): SecretParams => (personal ? { scope: 'User' } : {})

function useOf({ git, registry, description }: Secret): string {
  if (registry) {
    const use = `images of ${registry.host}, as ${registry.username}`
    return description ? `${use} (${description})` : use
  }
  const use = git
    ? `git at ${git.host}${git.read_only ? ', read only' : ''}: ${git.repositories?.join(' ') ?? 'every repository'}`
    : 'variable'
  return description ? `${use} (${description})` : use
}

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`

const describe = ({ secrets, environments, schedules, triggers, runs, webhooks }: Resealed): string =>
  `Sealed again: ${[
    count(secrets, 'secret'),
    count(environments, 'environment'),
    count(schedules, 'schedule'),
    count(triggers, 'trigger'),
    count(runs, 'run'),
    count(webhooks, 'webhook'),
  ].join(', ')}`

const unreadable = ({ unreadable: values }: Resealed): CommandFailure => {
  const named = values.slice(0, 5).map(({ kind, id }) => `${kind.replace(/s$/, '')} ${id}`)
  const more = values.length > named.length ? ` and ${values.length - named.length} more` : ''
  return new CommandFailure(`None of the keys opens the values of ${named.join(', ')}${more}.`, {
    hint: 'add the key they were sealed with to RUNYARD_OLD_SECRET_KEYS and call this again; without it, set them anew',
  })
}
