import { sql } from 'kysely'
import type { TERMINAL_STATES } from '../contract/state.ts'
import type { Db } from './db.ts'

type OpenState = 'QUEUED' | 'CLAIMED' | 'INPROGRESS' | 'BLOCKED'
type TerminalState = (typeof TERMINAL_STATES)[number]

/** How much there is of everything now, and has been since it is counted: numbers alone. */
export interface Counts {
  open: Record<OpenState, number>
  /** How long the run has waited that has waited longest; 0 where none waits. */
  oldest_seconds: number
  workers: { ready: number; draining: number; disk_full: number }
  /** Of workers that claim, and how many runs workers hold. */
  slots: { all: number; busy: number }
  /** Deliveries of webhooks that wait to be sent, or sent again. */
  deliveries_waiting: number
  created: number
  attempts: number
  lost: number
  ended: Record<TerminalState, number>
  delivered: number
  undelivered: number
}

const counted = (name: string) =>
  sql`coalesce(pg_sequence_last_value(${`counted_${name}`}::regclass), 0)::double precision`

/**
 * One statement. It counts what is open, each from an index that has nothing else, and reads sequences: however many runs there
 * have been, it costs what waits.
 */
export async function readCounts(db: Db): Promise<Counts> {
  const found = await sql<Counts>`
    select jsonb_build_object('QUEUED', q.waiting, 'CLAIMED', o.claimed, 'INPROGRESS', o.inprogress,
        'BLOCKED', (select count(*) from runs where state = 'BLOCKED')) as open,
      coalesce(extract(epoch from clock_timestamp() - q.since), 0)::double precision as oldest_seconds,
      jsonb_build_object('ready', w.ready, 'draining', w.draining, 'disk_full', w.disk_full) as workers,
      jsonb_build_object('all', w.slots, 'busy', (select count(*) from runs where worker_id is not null)) as slots,
      (select count(*)::int from webhook_deliveries where status = 'pending') as deliveries_waiting,
      ${counted('created')} as created, ${counted('attempts')} as attempts, ${counted('lost')} as lost,
      jsonb_build_object('SUCCEEDED', ${counted('succeeded')}, 'FAILED', ${counted('failed')},
        'ERROR', ${counted('error')}, 'CANCELLED', ${counted('cancelled')}) as ended,
      ${counted('delivered')} as delivered, ${counted('undelivered')} as undelivered
    from
      (select count(*) as waiting, min(updated_at) as since from runs where state = 'QUEUED') q,
      (select count(*) filter (where state = 'CLAIMED') as claimed, count(*) filter (where state = 'INPROGRESS') as inprogress
        from runs where state in ('CLAIMED', 'INPROGRESS')) o,
      (select count(*) filter (where not (draining or disk_full)) as ready, count(*) filter (where draining) as draining,
        count(*) filter (where disk_full and not draining) as disk_full,
        coalesce(sum(slots) filter (where not (draining or disk_full)), 0) as slots
        from workers where not lost) w`.execute(db)
  const [row] = found.rows
  if (!row) throw new Error('The counts have no row.')
  return row
}
