import type { Principal } from '@runyard/client'
import { type Command, Option } from 'commander'
import { oneLine } from '../one-line.ts'
import { addClientOptions, type ClientOptions, openSession } from '../session.ts'
import { formatTable } from '../table.ts'
import { formatAge } from '../time-text.ts'

interface AddOptions extends ClientOptions {
  role: 'admin' | 'member' | 'viewer'
}

export function addPrincipalCommands(program: Command): void {
  const group = program
    .command('principal')
    .alias('principals')
    .summary('add people, list, disable and enable them')
    .description('People: who has keys, and who may go on. For admins.')

  addClientOptions(group.command('list').alias('ls').description('Lists people, newest first.')).action(
    async (options: ClientOptions) => {
      const { client, output } = openSession(options)
      const principals: Principal[] = []
      for await (const person of client.principals.list({ limit: 500 })) principals.push(person)
      if (output.format === 'json') return output.json({ principals })
      if (output.format === 'ndjson') return principals.forEach(output.json)
      const columns = [
        { heading: 'ID', cell: ({ uid }: Principal) => output.id(uid) },
        { heading: 'NAME', cell: ({ display_name }: Principal) => display_name, flexible: true },
        { heading: 'KEYS', cell: ({ keys }: Principal) => String(keys), spare: true },
        {
          heading: 'LAST USED',
          cell: ({ last_used_at }: Principal) => (last_used_at ? formatAge(last_used_at) : 'never'),
          spare: true,
        },
        { heading: 'CREATED', cell: ({ created_at }: Principal) => formatAge(created_at), spare: true },
        { heading: 'ROLE', cell: ({ role }: Principal) => role ?? '', spare: true },
        { heading: 'STATE', cell: ({ disabled }: Principal) => (disabled ? 'disabled' : ''), spare: true },
      ].filter(({ cell }) => principals.some(cell))
      const rows = principals.map((person) => columns.map(({ cell }) => cell(person)))
      output.line(formatTable(columns, rows, output.columns()))
    },
  )

  addClientOptions(
    group
      .command('add <name>')
      .description(
        'Adds a person, and prints a link that signs a browser in as that person, once and within 24 hours.',
      )
      .addOption(
        new Option('--role <role>', 'what the person may do')
          .choices(['admin', 'member', 'viewer'])
          .default('member'),
      ),
  ).action(async (name: string, { role, ...options }: AddOptions) => {
    const { client, output } = openSession(options)
    const { principal } = await client.apiKeys.create({ name, role, new_user: true })
    const link = await client.signInLinks.create({ principal_id: principal.uid })
    if (output.format !== 'text') return output.json({ ...principal, role, sign_in: link })
    output.line(link.url)
    output.note(`Signs in as ${oneLine(name)}, once and within 24 hours.`)
  })

  for (const [verb, done, description] of [
    [
      'disable',
      'Disabled',
      'Stops everything that is done as a person: keys, sessions, schedules, triggers.',
    ],
    ['enable', 'Enabled', 'Lets a person go on, with the keys that were not revoked meanwhile.'],
  ] as const)
    addClientOptions(group.command(`${verb} <principal>`).description(description)).action(
      async (uid: string, options: ClientOptions) => {
        const { client, output } = openSession(options)
        const person = await client.principals[verb](uid)
        if (output.format !== 'text') return output.json(person)
        output.line(`${done} ${oneLine(person.display_name)}`)
      },
    )
}
