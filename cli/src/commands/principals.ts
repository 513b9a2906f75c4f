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
      const headings = ['ID', 'NAME', 'ROLE', 'KEYS', 'LAST USED', 'CREATED', 'STATE']
      const rows = principals.map((person) => [
        person.uid,
        person.display_name,
        person.role ?? '',
        String(person.keys),
        person.last_used_at ? formatAge(person.last_used_at) : 'never',
        formatAge(person.created_at),
        person.disabled ? 'disabled' : '',
      ])
      output.line(
        formatTable(
          headings.map((heading) => ({ heading, flexible: heading === 'NAME' })),
          rows,
          output.columns(),
        ),
      )
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
    addClientOptions(group.command(`${verb} <id>`).description(description)).action(
      async (uid: string, options: ClientOptions) => {
        const { client, output } = openSession(options)
        const person = await client.principals[verb](uid)
        if (output.format !== 'text') return output.json(person)
        output.line(`${done} ${oneLine(person.display_name)}`)
      },
    )
}
