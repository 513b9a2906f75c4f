import { z } from 'zod'
import { RunCreatorInfo, WaitingRun } from './run.ts'
import { RunState } from './state.ts'
import { Timestamp } from './timestamp.ts'
import { wholeNumber } from './whole-number.ts'

const POOL = z.string().max(128).optional().meta({ description: 'This pool only.' })
const limit = (usual: number) =>
  wholeNumber(1, 500)
    .optional()
    .meta({ description: `1 to 500, default ${usual}.` })

export const ListWorkersQuery = z.object({ pool: POOL, limit: limit(500) })
export type ListWorkersQuery = z.infer<typeof ListWorkersQuery>

export const WorkerItem = z
  .object({
    worker_id: z.string().meta({ description: 'New with each start.' }),
    pool: z.string(),
    state: z.enum(['ready', 'draining', 'disk_full', 'lost']).meta({
      description:
        '`ready`: takes runs. `draining`: stops, and takes none. `disk_full`: takes none until its disk has space. `lost`: sends no heartbeats any more; its runs go back to the queue. Listed for an hour.',
    }),
    host: z.string().nullable().meta({ description: 'Name of its machine. `null`: an older version.' }),
    version: z.string().nullable().meta({ description: 'Of Runyard. `null`: an older version.' }),
    sandbox: z
      .string()
      .meta({ description: 'Its sandbox backend: `docker`, `bubblewrap`, `kubernetes` or `host`.' }),
    slots: z.int().meta({ description: 'Runs that it executes at once.' }),
    slots_busy: z
      .int()
      .meta({ description: 'Runs that it holds, including those that the caller may not see.' }),
    runs: z
      .array(z.object({ run_id: z.string(), title: z.string(), state: RunState }).meta({ id: 'RunOfWorker' }))
      .meta({ description: 'Those of them that the caller may see, oldest first.' }),
    started_at: Timestamp,
    seen_at: Timestamp.nullable().meta({
      description: 'Its last heartbeat. `null`: it works in the process of the service, which needs none.',
    }),
  })
  .meta({ id: 'WorkerItem', description: 'A process that executes runs.' })
export type WorkerItem = z.infer<typeof WorkerItem>

export const ListWorkersResponse = z
  .object({ workers: z.array(WorkerItem), has_more: z.boolean() })
  .meta({ id: 'ListWorkersResponse' })

export const QueueQuery = z.object({ pool: POOL, limit: limit(50) })
export type QueueQuery = z.infer<typeof QueueQuery>

export const QueuedPool = z
  .object({
    name: z.string(),
    queued_runs: z.int().meta({ description: 'Runs of all callers, counted up to 10,000.' }),
    oldest_since: Timestamp.meta({ description: 'Since when the one has waited that has waited longest.' }),
    workers_ready: z.int().meta({ description: 'Workers of the pool that take runs.' }),
    slots: z.int().meta({ description: 'Runs that the ready ones may hold at once.' }),
    slots_free: z.int(),
  })
  .meta({ id: 'QueuedPool', description: 'A pool that runs wait for.' })
export type QueuedPool = z.infer<typeof QueuedPool>

export const QueuedRun = z
  .object({
    run_id: z.string(),
    title: z.string(),
    creator: RunCreatorInfo,
    queued_since: Timestamp,
    waiting: WaitingRun,
  })
  .meta({ id: 'QueuedRun', description: 'A run that waits for a worker, and why.' })
export type QueuedRun = z.infer<typeof QueuedRun>

export const Queue = z
  .object({
    pools: z.array(QueuedPool).meta({ description: 'Those that the caller may use, longest queue first.' }),
    runs: z.array(QueuedRun).meta({ description: 'Those that the caller may see, oldest first.' }),
    has_more: z.boolean().meta({ description: 'Whether more of these runs wait.' }),
  })
  .meta({ id: 'Queue' })
export type Queue = z.infer<typeof Queue>
