import type { Logger } from 'pino'
import type { Blobs } from './blobs/blobs.ts'
import type { Config } from './config.ts'
import { listHarnesses } from './installed-harnesses.ts'
import { startScheduler } from './schedules/scheduler.ts'
import { readKeyring } from './secret-keys.ts'
import type { Store } from './store/db.ts'
import type { Watch } from './store/watch.ts'

export interface ScheduleOptions {
  config: Config
  store: Store
  blobs: Blobs
  watch: Watch
  log: Logger
}

/** Fires schedules until the function it returns is called. */
export const startSchedules = ({
  config,
  store,
  blobs,
  watch,
  log,
}: ScheduleOptions): (() => Promise<void>) =>
  startScheduler({
    intake: {
      ...{ db: store.db, blobs, max_run_files_bytes: config.max_run_files_bytes },
      ...{ seal_key: readKeyring(config), default_pool: config.pool, harnesses: listHarnesses(config) },
      open_runs: config.open_runs,
    },
    watch,
    log,
  })
