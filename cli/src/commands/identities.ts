import type { AgentIdentity, CreateApiKeyRequest, UpdateAgentIdentityRequest } from '@runyard/client'
import { type Command, Option } from 'commander'
import { usageFailure } from '../failure.ts'
import { oneLine } from '../one-line.ts'
import { moment, repeated } from '../option-values.ts'
import type { Output } from '../output.ts'
import { addClientOptions, type ClientOptions, openSession } from '../session.ts'
import { formatTable } from '../table.ts'
import { formatAge } from '../time-text.ts'

interface Fields {
  name?: string
  description?: string
  env?: string
  model?: string
  harness?: string
  basePrompt?: string
  skill?: string[]
  host?: string
}

interface KeyOptions extends ClientOptions {
  name?: string
  role: NonNullable<CreateApiKeyRequest['role']>
  expires?: Date
}

export function addIdentityCommands(program: Command): void {
  const group = program
    .command('identity')
    .alias('identities')
    .summary('make, list, change and delete service accounts that execute runs')
    .description('Identities: service accounts that execute runs. runyard run --identity NAME')

  addClientOptions(
    addFields(
      group
        .command('create <name>')
        .description('Makes an identity. What it says of runs holds where they say nothing.'),
    ),
  ).action(async (name: string, options: Fields & ClientOptions) => {
    const { client, output } = openSession(options)
    const made = await client.identities.create({ name, ...fieldsOf(options) })
    if (output.format !== 'text') return output.json(made)
    output.line(output.id(made.uid))
    output.note(`Made ${made.name}.`)
    warn(output, made)
  })

  addClientOptions(group.command('list').alias('ls').description('Lists identities, by name.')).action(
    async (options: ClientOptions) => {
      const { client, output } = openSession(options)
      const agents = await Array.fromAsync(client.identities.list())
      if (output.format === 'json') return output.json({ agents })
      if (output.format === 'ndjson') return agents.forEach(output.json)
      if (agents.length === 0) return output.note('No identities. Make one: runyard identity create NAME')
      const columns = [
        ...[{ heading: 'ID' }, { heading: 'NAME' }, { heading: 'MADE BY' }, { heading: 'CHANGED' }],
        { heading: 'DESCRIPTION', flexible: true },
      ]
      const rows = agents.map(({ uid, name, creator, updated_at, description }) => [
        output.id(uid),
        name,
        creator.display_name ?? creator.uid,
        formatAge(updated_at),
        description ?? '',
      ])
      output.line(formatTable(columns, rows, output.columns()))
    },
  )

  addClientOptions(
    group.command('show <identity>').description('Shows an identity and what it says of its runs.'),
  ).action(async (uid: string, options: ClientOptions) => {
    const { client, output } = openSession(options)
    const identity = await client.identities.retrieve(uid)
    if (output.format !== 'text') return output.json(identity)
    for (const [label, value] of describe(identity, output))
      output.line(`${label.padEnd(13)}${oneLine(value)}`)
  })

  addClientOptions(
    addFields(
      group
        .command('update <identity>')
        .description('Changes what is given; an empty text takes it away.')
        .option('--name <name>', 'what it is called'),
    ),
  ).action(async (uid: string, options: Fields & ClientOptions) => {
    const changes = { ...fieldsOf(options), ...(options.name === undefined ? {} : { name: options.name }) }
    if (Object.keys(changes).length === 0) throw usageFailure('Say what to change: --help lists it.')
    const { client, output } = openSession(options)
    const identity = await client.identities.update(uid, changes)
    if (output.format !== 'text') return output.json(identity)
    output.line(`Changed ${oneLine(identity.name)}`)
    warn(output, identity)
  })

  addClientOptions(
    group
      .command('key <identity>')
      .description('Makes a key of an identity, for admins, and prints it this once.')
      .option('--name <name>', 'what the key is called; default: like the identity')
      .addOption(
        new Option('--role <role>', 'what it may do')
          .choices(['admin', 'member', 'viewer'])
          .default('member'),
      )
      .option('--expires <time>', 'when it ends, such as 2030-01-31', moment),
  ).action(async (uid: string, options: KeyOptions) => {
    const { client, output } = openSession(options)
    const name = options.name ?? (await client.identities.retrieve(uid)).name
    const key = await client.apiKeys.create({
      name,
      role: options.role,
      agent_identity_uid: uid,
      ...(options.expires ? { expires_at: options.expires.toISOString() } : {}),
    })
    if (output.format !== 'text') return output.json(key)
    output.line(oneLine(key.api_key))
    output.note('Shown this once; only its hash is stored.')
  })

  addClientOptions(
    group
      .command('delete <identity>')
      .alias('rm')
      .description('Deletes an identity. Its keys are revoked, its runs stay.'),
  ).action(async (uid: string, options: ClientOptions) => {
    const { client, output } = openSession(options)
    const identity = await client.identities.delete(uid)
    if (output.format !== 'text') return output.json(identity)
    output.line(`Deleted ${oneLine(identity.name)}`)
  })
}

/** Beside what was made, for people. */
function warn({ note, colors }: Output, { warnings = [] }: AgentIdentity): void {
  for (const warning of warnings) note(colors.yellow(`! ${oneLine(warning)}`))
}

const addFields = (command: Command): Command =>
  command
    .option('--description <text>', 'what it is for')
    .option('-e, --env <environment>', 'environment of its runs, by name or id')
    .option('-m, --model <id>', 'model of its runs')
    .option('--harness <name>', 'what executes its runs')
    .option('--base-prompt <text>', 'instructions for each of its runs')
    .option('--skill <spec>', 'skill of its runs; repeat for more, "" for none', repeated)
    .option('--host <pool>', 'pool of its runs')

const fieldsOf = (options: Fields): Omit<UpdateAgentIdentityRequest, 'name'> => ({
  ...(options.description === undefined ? {} : { description: options.description }),
  ...(options.env === undefined ? {} : { environment_id: options.env }),
  ...(options.model === undefined ? {} : { base_model: options.model }),
  ...(options.harness === undefined ? {} : { harness: options.harness ? { type: options.harness } : {} }),
  ...(options.basePrompt === undefined ? {} : { prompt: options.basePrompt }),
  ...(options.skill === undefined ? {} : { skills: options.skill.filter(Boolean) }),
  ...(options.host === undefined ? {} : { worker_host: options.host }),
})

function describe(identity: AgentIdentity, output: Output): Array<[string, string]> {
  const lines: Array<[string, string | undefined]> = [
    ['Id', output.id(identity.uid)],
    ['Name', identity.name],
    ['Description', identity.description],
    ['Environment', identity.environment_id],
    ['Model', identity.base_model],
    ['Harness', identity.harness?.type ?? identity.base_harness],
    ['Base prompt', identity.prompt],
    ['Skills', identity.skills.join(' ')],
    ['Pool', identity.worker_host],
    ['Warning', identity.warnings?.join(' ')],
    ['Made by', identity.creator.display_name ?? identity.creator.uid],
  ]
  return lines.flatMap(([label, value]) => (value ? [[label, value]] : []))
}
