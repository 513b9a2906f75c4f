import type { RunServices } from '../intake/new-run.ts'
import type { Db } from '../store/db.ts'
import type { HttpContext } from './context.ts'

/** What creating a run needs; `db` is another one within a transaction. */
export const intakeServices = (
  { store, blobs, settings }: Pick<HttpContext, 'store' | 'blobs' | 'settings'>,
  db: Db = store.db,
): RunServices => ({
  db,
  blobs,
  max_run_files_bytes: settings.max_run_files_bytes,
  seal_key: settings.keyring,
  default_pool: settings.default_pool,
  harnesses: settings.harnesses,
  mayOpen: settings.mayOpen,
  open_runs: settings.open_runs,
})
