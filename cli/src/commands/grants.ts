import type { GrantedKind, ResourceGrants } from '@runyard/client'
import { Argument, type Command } from 'commander'
import { oneLine } from '../one-line.ts'
import type { Output } from '../output.ts'
import { addClientOptions, type ClientOptions, openSession } from '../session.ts'
import { formatTable } from '../table.ts'
import { formatAge } from '../time-text.ts'

const KINDS: GrantedKind[] = ['pool', 'environment', 'identity', 'secret']

export function addGrantCommands(program: Command): void {
  const group = program
    .command('grant')
    .alias('grants')
    .summary('say who may use a pool, an environment, an identity or a secret')
    .description('Grants: without any, a pool, an environment or a secret is for everybody who may write.')
  const kind = () => new Argument('<kind>', 'what it is').choices(KINDS)

  addClientOptions(
    group
      .command('show')
      .description(
        'Shows who may use a pool, an environment, an identity or a secret of the team, besides admins.',
      )
      .addArgument(kind())
      .argument('<id>', 'its name or id'),
  ).action(async (resource_type: GrantedKind, resource_id: string, options: ClientOptions) => {
    const { client, output } = openSession(options)
    print(output, await client.grants.get({ resource_type, resource_id }))
  })

  addClientOptions(
    group
      .command('set')
      .description('Replaces all grants of a pool, an environment, an identity or a secret by these.')
      .addArgument(kind())
      .argument('<id>', 'its name or id')
      .argument('[principals...]', 'who may use it: ids of users and identities; none: as without grants'),
  ).action(
    async (
      resource_type: GrantedKind,
      resource_id: string,
      principal_ids: string[],
      options: ClientOptions,
    ) => {
      const { client, output } = openSession(options)
      print(output, await client.grants.put({ resource_type, resource_id, principal_ids }))
    },
  )
}

function print(output: Output, grants: ResourceGrants): void {
  if (output.format !== 'text') {
    output.json(grants)
    return
  }
  if (grants.grants.length === 0) {
    const open = grants.restricted ? 'for admins and who made it' : 'for everybody who may write'
    output.line(`No grants: the ${grants.resource_type} ${oneLine(grants.resource_id)} is ${open}.`)
    return
  }
  const columns = [
    { heading: 'PRINCIPAL' },
    { heading: 'NAME', flexible: true },
    { heading: 'GRANTED BY' },
    { heading: 'SINCE' },
  ]
  const rows = grants.grants.map(({ principal, granted_by, created_at }) => [
    output.id(principal.uid),
    principal.display_name ?? '',
    granted_by.display_name ?? granted_by.uid,
    formatAge(created_at),
  ])
  output.line(formatTable(columns, rows, output.columns()))
}
