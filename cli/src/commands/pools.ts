import type { Pool } from '@runyard/client'
import type { Command } from 'commander'
import { addClientOptions, type ClientOptions, openSession } from '../session.ts'
import { formatTable } from '../table.ts'

export function addPoolCommands(program: Command): void {
  const group = program
    .command('pool')
    .alias('pools')
    .summary('list pools of workers')
    .description('Pools: workers that take the same runs, which `runyard run --host` names.')

  addClientOptions(
    group
      .command('list')
      .alias('ls')
      .description('Lists the pools that you may use, and what their workers are doing.'),
  ).action(async (options: ClientOptions) => {
    const { client, output } = openSession(options)
    const pools: Pool[] = []
    for await (const pool of client.pools.list({ limit: 500 })) pools.push(pool)
    if (output.format === 'json') return output.json({ pools })
    if (output.format === 'ndjson') return pools.forEach(output.json)
    const headings = ['POOL', 'WORKERS', 'READY', 'BUSY', 'QUEUED', 'FOR']
    const rows = pools.map((pool) => [
      `${pool.name}${pool.is_default ? ' (default)' : ''}`,
      ...[pool.workers, pool.workers_ready].map(String),
      `${pool.slots_busy}/${pool.slots}`,
      String(pool.queued_runs),
      pool.restricted ? 'grants' : 'everybody',
    ])
    output.line(
      formatTable(
        headings.map((heading) => ({ heading, flexible: heading === 'POOL' })),
        rows,
        output.columns(),
      ),
    )
  })
}
