/** The HTTP face in this process, without a worker and without a port: `inject` asks it. */
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import pino from 'pino'
import { openDiskBlobs } from '../../src/blobs/disk.ts'
import { readConfig } from '../../src/config.ts'
import { buildFace } from '../../src/listen.ts'
import { openPostgres, type Store } from '../../src/store/db.ts'
import { Watch } from '../../src/store/watch.ts'
import { createMigrated } from './databases.ts'
import { injectedFetch } from './injected-fetch.ts'
import { temporaryDirectory } from './service.ts'

/** No port: nobody listens. */
export const ORIGIN = 'http://127.0.0.1'

/** On a database that the test has, too. `env`: settings of the service, beside those of tests. */
export function openApp(
  store: Store,
  env: Record<string, string> = {},
  watch: Watch = new Watch(store),
): FastifyInstance {
  const config = readConfig({
    ...{ RUNYARD_DATA_DIR: temporaryDirectory('app'), RUNYARD_PUBLIC_URL: ORIGIN },
    ...{ RUNYARD_SECRET_KEY: 'a secret key of more than thirty-two characters' },
    ...{ RUNYARD_LOG_LEVEL: 'silent' },
    ...env,
  })
  const { app } = buildFace({
    ...{ config, store, watch, log: pino({ level: 'silent' }) },
    blobs: openDiskBlobs(join(config.data_dir, 'blobs')),
    blobs_state: async () => ({ kind: 'disk', reachable: true }),
    request_maxima: { requests_per_minute: 0, creates_per_minute: 0 },
  })
  return app
}

export interface TestFace {
  store: Store
  watch: Watch
  app: FastifyInstance
  /** What links are made of. */
  origin: string
  base_url: string
  /** Asks `app` for its addresses. */
  fetch: typeof fetch
  stop(): Promise<void>
}

/** The face on a database of its own. */
export async function openFace(env: Record<string, string> = {}): Promise<TestFace> {
  const database = await createMigrated()
  const store = openPostgres({ url: database.url })
  const watch = new Watch(store)
  await watch.start()
  const app = openApp(store, env, watch)
  const origin = env.RUNYARD_PUBLIC_URL ?? ORIGIN
  return {
    ...{ store, watch, app, origin, base_url: `${origin}/api/v1` },
    fetch: injectedFetch(app, origin),
    async stop() {
      await app.close()
      await watch.close()
      await store.close()
      await database.drop()
    },
  }
}
