import type { WorkerItem } from '@runyard/client'
import type { Command } from 'commander'
import { oneLine } from '../one-line.ts'
import { wholeNumber } from '../option-values.ts'
import { addClientOptions, type ClientOptions, openSession } from '../session.ts'
import { formatTable } from '../table.ts'
import { formatAge } from '../time-text.ts'

interface FleetOptions extends ClientOptions {
  pool?: string
  limit?: number
}

export function addWorkersCommands(program: Command): void {
  const group = program
    .command('workers')
    .summary('list workers')
    .description('Workers: the processes that execute runs. `runyard worker` starts one.')

  addClientOptions(
    group
      .command('list')
      .alias('ls')
      .description('Lists the workers of the pools that you may use, and the runs they hold.')
      .option('--pool <name>', 'of this pool only'),
  ).action(async ({ pool, ...options }: FleetOptions) => {
    const { client, output } = openSession(options)
    const found = await client.workers.list({ pool })
    if (output.format === 'json') return output.json(found)
    if (output.format === 'ndjson') return found.workers.forEach(output.json)
    if (found.workers.length === 0) return output.note('No workers. Runs wait until one starts.')
    const headings = ['WORKER', 'POOL', 'STATE', 'BUSY', 'HOST', 'VERSION', 'SANDBOX', 'SEEN', 'RUNS']
    const rows = found.workers.map((worker) => [
      ...[output.id(worker.worker_id), worker.pool, worker.state, `${worker.slots_busy}/${worker.slots}`],
      ...[oneLine(worker.host ?? ''), worker.version ?? '', worker.sandbox, sayHeartbeat(worker)],
      worker.runs.map(({ run_id }) => output.id(run_id)).join(' '),
    ])
    output.line(
      formatTable(
        headings.map((heading) => ({ heading, flexible: heading === 'RUNS' })),
        rows,
        output.columns(),
      ),
    )
    if (found.has_more) output.note('There are more: --pool NAME lists those of one pool.')
  })
}

/** One in the service's own process sends no heartbeats: it lives as long as that. */
const sayHeartbeat = ({ seen_at, state }: WorkerItem): string =>
  seen_at ? formatAge(seen_at) : state === 'lost' ? '' : 'in the service'

export function addQueueCommand(program: Command): void {
  addClientOptions(
    program
      .command('queue')
      .summary('show what waits for workers, and why')
      .description('Shows how many runs wait in each pool, and why each of yours waits, oldest first.')
      .option('--pool <name>', 'of this pool only')
      .option('-l, --limit <n>', 'how many runs', wholeNumber(1, 500), 50),
  ).action(async ({ pool, limit, ...options }: FleetOptions) => {
    const { client, output } = openSession(options)
    const queue = await client.workers.queue({ pool, limit })
    if (output.format === 'json') return output.json(queue)
    if (output.format === 'ndjson') return queue.runs.forEach(output.json)
    if (queue.pools.length + queue.runs.length === 0) return output.note('No runs are waiting.')
    const pools = queue.pools.map(({ name, queued_runs, oldest_since, workers_ready, slots, slots_free }) => [
      ...[
        name,
        String(queued_runs),
        formatAge(oldest_since),
        String(workers_ready),
        `${slots_free}/${slots}`,
      ],
    ])
    const table = (headings: string[], rows: string[][], flexible: string) =>
      formatTable(
        headings.map((heading) => ({ heading, flexible: heading === flexible })),
        rows,
        output.columns(),
      )
    if (pools.length > 0) output.line(table(['POOL', 'WAITING', 'OLDEST', 'READY', 'FREE'], pools, 'POOL'))
    if (queue.runs.length === 0) return
    const runs = queue.runs.map(({ run_id, title, queued_since, waiting }) => [
      ...[output.id(run_id), formatAge(queued_since), oneLine(title), oneLine(waiting.message)],
    ])
    output.line(`${pools.length > 0 ? '\n' : ''}${table(['RUN', 'SINCE', 'TITLE', 'WHY'], runs, 'TITLE')}`)
    if (queue.has_more) output.note(output.colors.dim('There are more: --limit N.'))
  })
}
