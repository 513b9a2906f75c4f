import type { Runyard, ShareLink } from '@runyard/client'
import type { Command } from 'commander'
import { findEnding } from '../ending.ts'
import { usageFailure } from '../failure.ts'
import { oneLine } from '../one-line.ts'
import { timeSpan } from '../option-values.ts'
import type { Output } from '../output.ts'
import { addClientOptions, type ClientOptions, openSession } from '../session.ts'
import { formatTable } from '../table.ts'
import { formatAge } from '../time-text.ts'

interface ShareOptions extends ClientOptions {
  name?: string
  expires?: number
  list?: boolean
  revoke?: string
}

export function addShareCommand(program: Command): void {
  addClientOptions(
    program
      .command('share <run-id>')
      .summary('share a run with people who have no key')
      .description(
        'Prints a link to a run, this once. Who has it sees that run, and nothing else, until it is revoked or expires.',
      )
      .option('--name <name>', 'whom it is for')
      .option('--expires <time>', 'end by itself after that long, such as 7d', timeSpan)
      .option('--list', 'list the links of the run instead')
      .option('--revoke <link-id>', 'revoke one instead'),
  ).action(async (run_id: string, { name, expires, list, revoke, ...options }: ShareOptions) => {
    const makes = name !== undefined || expires !== undefined
    if ([makes, list, revoke !== undefined].filter(Boolean).length > 1)
      throw usageFailure('Give --list, --revoke or what a new link is to be.')
    const { client, output } = openSession(options)
    if (list) return print(output, await Array.fromAsync(client.shareLinks.list(run_id)))
    if (revoke !== undefined) {
      const revoked = await client.shareLinks.revoke(
        run_id,
        await findEnding(linkIds(client, run_id), 'link', revoke),
      )
      if (output.format === 'text') output.line(`Revoked ${output.id(revoked.share_link_id)}`)
      else output.json(revoked)
      return
    }
    const link = await client.shareLinks.create(run_id, {
      name,
      ...(expires === undefined ? {} : { expires_at: new Date(Date.now() + expires).toISOString() }),
    })
    if (output.format === 'text') output.line(oneLine(link.url))
    else output.json(link)
  })
}

async function* linkIds({ shareLinks }: Runyard, run_id: string): AsyncGenerator<string> {
  for await (const { share_link_id } of shareLinks.list(run_id)) yield share_link_id
}

function print(output: Output, links: ShareLink[]): void {
  if (output.format === 'json') output.json({ share_links: links })
  else if (output.format === 'ndjson') links.forEach(output.json)
  else if (links.length === 0) output.note('The run has no share links.')
  else output.line(table(links, output))
}

function table(links: ShareLink[], output: Output): string {
  const columns = ['ID', 'NAME', 'MADE BY', 'MADE', 'LAST USED', 'UNTIL'].map((heading) => ({
    heading,
    flexible: heading === 'NAME',
    spare: ['MADE BY', 'MADE', 'LAST USED'].includes(heading),
  }))
  const rows = links.map((link) => [
    output.id(link.share_link_id),
    link.name ?? '',
    link.created_by.display_name ?? link.created_by.uid,
    formatAge(link.created_at),
    link.last_used_at ? formatAge(link.last_used_at) : 'never',
    link.expires_at ?? 'revoked',
  ])
  return formatTable(columns, rows, output.columns())
}
