import type { Command } from 'commander'
import { oneLine } from '../one-line.ts'
import { wholeNumber } from '../option-values.ts'
import { addClientOptions, type ClientOptions, openSession } from '../session.ts'
import { formatTable } from '../table.ts'

export function addRepositoryCommands(program: Command): void {
  const group = program
    .command('repo')
    .summary('list repositories that your git secrets reach')
    .description('Repositories at GitHub and GitLab that your git secrets reach, and their branches.')

  addClientOptions(
    group
      .command('list [search]')
      .alias('ls')
      .description('Lists repositories, last used first.')
      .option('-l, --limit <n>', 'how many', wholeNumber(1, 100), 20),
  ).action(async (query: string | undefined, { limit, ...options }: ClientOptions & { limit: number }) => {
    const { client, output } = openSession(options)
    const found = await client.repositories.list({ query, limit })
    for (const note of found.notes) output.note(oneLine(note))
    if (output.format === 'json') return output.json(found)
    if (output.format === 'ndjson') return found.repositories.forEach(output.json)
    if (found.repositories.length === 0) return output.note('No repository that your git secrets reach.')
    const rows = found.repositories.map(({ url, is_private, default_branch, secret_name }) => [
      ...[oneLine(url), is_private ? 'private' : 'public', oneLine(default_branch ?? ''), secret_name],
    ])
    const headings = ['REPOSITORY', 'ACCESS', 'BRANCH', 'SECRET']
    output.line(
      formatTable(
        headings.map((heading) => ({ heading, flexible: heading === 'BRANCH' })),
        rows,
        output.columns(),
      ),
    )
    if (found.has_more) output.note(output.colors.dim('There are more: search by name, or --limit N.'))
  })

  addClientOptions(
    group
      .command('branches <repository> [beginning]')
      .description("Lists a repository's branches, or only those that begin with BEGINNING."),
  ).action(async (repository: string, query: string | undefined, options: ClientOptions) => {
    const { client, output } = openSession(options)
    const found = await client.repositories.branches({ repository, query })
    for (const note of found.notes) output.note(oneLine(note))
    if (output.format !== 'text') return output.json(found)
    for (const name of found.branches)
      output.line(`${oneLine(name)}${name === found.default_branch ? ' (default)' : ''}`)
  })
}
