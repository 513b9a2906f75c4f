import type { ListSkillsParams } from '@runyard/client'
import { type Command, Option } from 'commander'
import { oneLine } from '../one-line.ts'
import { addClientOptions, type ClientOptions, openSession } from '../session.ts'
import { formatTable } from '../table.ts'

interface ListOptions extends ClientOptions {
  repo?: string
  malformed?: boolean
  refresh?: boolean
  sort?: NonNullable<ListSkillsParams['sort_by']>
}

export function addSkillCommands(program: Command): void {
  const group = program
    .command('skill')
    .alias('skills')
    .summary('list skills')
    .description('Skills of the environments’ repositories: runyard run --skill <id>.')
  addClientOptions(
    group
      .command('list')
      .alias('ls')
      .description('Lists skills, as the last run of each environment found them.')
      .option('--repo <owner/repo>', 'of this repository')
      .option('--refresh', 'have the repositories read again, as they are now')
      .option('--malformed', 'those that cannot be used as well, and why')
      .addOption(new Option('--sort <order>', 'order').choices(['name', 'last_run'])),
  ).action(async ({ repo, malformed, refresh, sort, ...options }: ListOptions) => {
    const { client, output } = openSession(options)
    const listed = await client.skills.list({
      ...(repo ? { repo } : {}),
      ...(refresh ? { refresh: true } : {}),
      ...(malformed ? { include_malformed_skills: true } : {}),
      ...(sort ? { sort_by: sort } : {}),
    })
    for (const { name, reason } of listed.not_refreshed ?? [])
      output.note(`Not read again: ${oneLine(name)}. ${oneLine(reason)}`)
    if (output.format === 'json') return output.json(listed)
    if (output.format === 'ndjson') return listed.agents.forEach(output.json)
    if (listed.agents.length === 0)
      return output.note(
        'No skills. They are found when a run clones the repositories of its environment, or with --refresh.',
      )
    const columns = [
      ...[{ heading: 'NAME' }, { heading: 'ID' }, { heading: 'ENVIRONMENTS' }],
      { heading: 'DESCRIPTION', flexible: true },
    ]
    const rows = listed.agents.flatMap(({ name, variants }) =>
      variants.map(({ id, description, environments, error }) => [
        oneLine(name),
        oneLine(id),
        oneLine(environments.map((environment) => environment.name).join(', ')),
        oneLine(error ? `cannot be used: ${error}` : description),
      ]),
    )
    output.line(formatTable(columns, rows, output.columns()))
  })
}
