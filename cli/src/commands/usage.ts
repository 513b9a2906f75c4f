import type { Runyard, Usage } from '@runyard/client'
import type { Command } from 'commander'
import { moment } from '../option-values.ts'
import { addClientOptions, type ClientOptions, openSession } from '../session.ts'
import { describeUnpriced, formatUsage } from '../usage-text.ts'

interface UsageOptions extends ClientOptions {
  since?: Date
  until?: Date
  timeZone?: string
  creator?: string
}

export function addUsageCommand(program: Command): void {
  addClientOptions(
    program
      .command('usage')
      .summary('show what runs used and cost')
      .description('Shows runs, how they ended, how long they took and what they cost, over 30 days.')
      .option('--since <time>', 'runs created from then on: 2026-01-31, or 7d for a week ago', moment)
      .option('--until <time>', 'runs created before then', moment)
      .option('--time-zone <name>', 'of the days, such as Europe/Berlin; default: this machine’s')
      .option('--creator <principal>', 'runs of this user or identity only, by name or id; me for yourself'),
  ).action(async ({ since, until, timeZone, creator, ...options }: UsageOptions) => {
    const { client, output } = openSession(options)
    const usage = await client.usage.get({
      time_zone: timeZone ?? new Intl.DateTimeFormat().resolvedOptions().timeZone,
      from: since?.toISOString(),
      to: until?.toISOString(),
      creator,
    })
    if (output.format !== 'text') return output.json(usage)
    const unpriced = await findUnpriced(client, usage)
    output.line(formatUsage(usage, unpriced, output))
    if (unpriced.size > 0) output.note(output.colors.yellow(describeUnpriced(usage, unpriced)))
  })
}

/** Models that were asked and of which nobody knows a price, unlike one whose price is nothing. */
async function findUnpriced({ models }: Runyard, { by_model }: Usage): Promise<ReadonlySet<string>> {
  const free = by_model.filter(({ total_tokens, cost_usd }) => total_tokens > 0 && cost_usd === 0)
  if (free.length === 0) return new Set()
  const known = new Map((await models.list()).models.map(({ id, prices }) => [id, prices]))
  return new Set(free.flatMap(({ model_id }) => (model_id && !known.get(model_id) ? [model_id] : [])))
}
