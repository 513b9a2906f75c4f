import type { Queue, WorkerItem } from '@runyard/client'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useAccess } from '../client.ts'
import { plainText } from '../text/plain-text.ts'
import { Ago } from '../ui/moment.tsx'
import { PageHead, Rows } from '../ui/page-head.tsx'
import { Problem } from '../ui/problem.tsx'

const POLL_MS = 5_000
const MOST_RUNS = 100

/** Who executes runs, and what waits for them. */
export function WorkersPage() {
  const { client } = useAccess()
  const workers = useQuery({
    queryKey: ['workers'],
    queryFn: ({ signal }) => client.workers.list({}, { signal }),
    refetchInterval: POLL_MS,
  })
  const queue = useQuery({
    queryKey: ['queue'],
    queryFn: ({ signal }) => client.workers.queue({ limit: MOST_RUNS }, { signal }),
    refetchInterval: POLL_MS,
  })
  return (
    <>
      <PageHead title="Workers" />
      {workers.error ? <Problem error={workers.error} onRetry={() => workers.refetch()} /> : null}
      {workers.isPending ? <p className="text-soft">Loading…</p> : null}
      {workers.data?.workers.length === 0 ? (
        <p className="max-w-2xl text-soft">
          No workers. Runs wait until one starts: <code>runyard worker</code>.
        </p>
      ) : null}
      {workers.data && workers.data.workers.length > 0 ? (
        <Rows label="Workers">
          {workers.data.workers.map((worker) => (
            <WorkerRow key={worker.worker_id} worker={worker} />
          ))}
        </Rows>
      ) : null}
      {workers.data?.has_more ? <p className="text-sm text-soft">There are more workers.</p> : null}
      <section aria-labelledby="queue" className="mt-10">
        <h2 id="queue" className="m-0 mb-3 font-semibold text-base">
          Queue
        </h2>
        {queue.error ? <Problem error={queue.error} onRetry={() => queue.refetch()} /> : null}
        {queue.isPending ? <p className="m-0 text-sm text-soft">Loading…</p> : null}
        {queue.data ? <QueueView queue={queue.data} /> : null}
      </section>
    </>
  )
}

const STATES: Record<WorkerItem['state'], { label: string; tone: string }> = {
  ready: { label: 'Ready', tone: 'text-good' },
  draining: { label: 'Stopping', tone: 'text-wait' },
  disk_full: { label: 'Disk full', tone: 'text-wait' },
  lost: { label: 'Lost', tone: 'text-bad' },
}

function WorkerRow({ worker }: { worker: WorkerItem }) {
  const { host, worker_id, pool, version, sandbox, slots, slots_busy, started_at, seen_at, runs } = worker
  const { label, tone } = STATES[worker.state] ?? { label: worker.state, tone: 'text-soft' }
  const hidden = slots_busy - runs.length
  return (
    <li className="grid grid-cols-[minmax(0,1fr)] gap-1 py-3 text-sm">
      <div className="flex flex-wrap items-baseline gap-x-4 gap-y-1">
        <span className="min-w-0 font-medium text-base wrap-anywhere">{plainText(host ?? worker_id)}</span>
        <span className={`font-semibold ${tone}`}>{label}</span>
        <span className="tabular ml-auto">
          {slots_busy} of {slots} {slots === 1 ? 'slot' : 'slots'} busy
        </span>
      </div>
      <span className="tabular text-soft">
        Pool {plainText(pool)} · {sandbox}
        {version ? ` · version ${version}` : ''} · started <Ago at={started_at} />
        {seen_at ? (
          <>
            {' '}
            · heartbeat <Ago at={seen_at} />
          </>
        ) : null}
      </span>
      {runs.length > 0 || hidden > 0 ? (
        <ul className="m-0 flex list-none flex-wrap gap-x-4 gap-y-1 p-0">
          {runs.map(({ run_id, title }) => (
            <li key={run_id} className="min-w-0 max-w-full truncate">
              <Link to="/sessions/$run_id" params={{ run_id }}>
                {plainText(title)}
              </Link>
            </li>
          ))}
          {hidden > 0 ? (
            <li className="text-soft">
              {hidden} {hidden === 1 ? 'run' : 'runs'} that you can't see
            </li>
          ) : null}
        </ul>
      ) : null}
    </li>
  )
}

function QueueView({ queue: { pools, runs, has_more } }: { queue: Queue }) {
  if (pools.length + runs.length === 0) return <p className="m-0 text-sm text-soft">No runs are waiting.</p>
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-6">
      {pools.length > 0 ? (
        <Rows label="Pools that runs wait for">
          {pools.map(({ name, queued_runs, oldest_since, workers_ready, slots, slots_free }) => (
            <li key={name} className="tabular flex flex-wrap items-baseline gap-x-4 gap-y-1 py-3 text-sm">
              <span className="min-w-0 font-medium text-base wrap-anywhere">{plainText(name)}</span>
              <span>
                {queued_runs} {queued_runs === 1 ? 'run waits' : 'runs wait'}, the oldest since{' '}
                <Ago at={oldest_since} />
              </span>
              <span className={workers_ready === 0 ? 'text-wait' : 'text-soft'}>
                {workers_ready === 0 ? 'no worker is ready' : `${slots_free} of ${slots} slots free`}
              </span>
            </li>
          ))}
        </Rows>
      ) : null}
      {runs.length > 0 ? (
        <Rows label="Runs that wait">
          {runs.map(({ run_id, title, creator, queued_since, waiting }) => (
            <li key={run_id} className="grid grid-cols-[minmax(0,1fr)] gap-1 py-3 text-sm">
              <span className="flex flex-wrap items-baseline gap-x-4 gap-y-1">
                <Link to="/sessions/$run_id" params={{ run_id }} className="min-w-0 flex-1 truncate">
                  {plainText(title)}
                </Link>
                <span className="text-soft">
                  {plainText(creator.display_name ?? creator.uid)} · <Ago at={queued_since} />
                </span>
              </span>
              <span className={waiting.reason === 'starting' ? 'text-soft' : 'text-wait'}>
                {plainText(waiting.message)}
              </span>
            </li>
          ))}
        </Rows>
      ) : null}
      {has_more ? <p className="m-0 text-sm text-soft">More runs wait; these are the oldest.</p> : null}
    </div>
  )
}
