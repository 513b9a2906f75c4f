/** The control plane of a worker that has the database. */
import type { Blobs } from './blobs/blobs.ts'
import type { Config } from './config.ts'
import { StoredControlPlane } from './control-plane/stored-control-plane.ts'
import { planStoredHeart } from './control-plane/stored-heart.ts'
import { listHarnesses } from './installed-harnesses.ts'
import { createChild } from './intake/child-run.ts'
import { readKeyring } from './secret-keys.ts'
import type { Store } from './store/db.ts'
import type { Watch } from './store/watch.ts'
import type { SpawnRun } from './worker/control-plane.ts'

export interface StoredPlaneOptions {
  config: Config
  store: Store
  blobs: Blobs
  watch: Watch
  /** In the process of `dev`: the data directory's lock proves that nobody else works, so nothing beats. */
  embedded: boolean
}

export function openStoredPlane({ config, embedded, ...services }: StoredPlaneOptions): StoredControlPlane {
  const { database_url } = config
  return new StoredControlPlane({
    ...services,
    seal_key: readKeyring(config),
    heart: database_url && !embedded ? planStoredHeart(database_url) : null,
    spawnRun: createSpawn({ config, ...services }),
  })
}

function createSpawn({ config, store, blobs, watch }: Omit<StoredPlaneOptions, 'embedded'>): SpawnRun {
  return async (lease, request, key) => {
    const services = {
      ...{ db: store.db, blobs, max_run_files_bytes: config.max_run_files_bytes },
      ...{ seal_key: readKeyring(config), default_pool: config.pool, harnesses: listHarnesses(config) },
      open_runs: config.open_runs,
    }
    const created = await createChild(services, lease, request, key)
    if ('refusal' in created) return created
    watch.touchPool(created.pool)
    for (const run_id of created.ancestor_run_ids) watch.touchRun(run_id)
    return { run_id: created.run_id }
  }
}
