import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import pino from 'pino'
import { openDiskBlobs } from '../../src/blobs/disk.ts'
import { readConfig } from '../../src/config.ts'
import { buildFace } from '../../src/listen.ts'
import type { Store } from '../../src/store/db.ts'
import { Watch } from '../../src/store/watch.ts'
import { temporaryDirectory } from './service.ts'

/** Nobody waits half a minute for a stream that has lost its key. */
const KEY_CHECK_MS = 500

/** What links are made of. No port: nobody listens there. */
export const ORIGIN = 'http://127.0.0.1'

/**
 * The HTTP face in this process, on a database that the test has, too. Not listening: `inject` asks it. `env`: settings of the
 * service, beside those of tests.
 */
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
    key_check_ms: KEY_CHECK_MS,
    request_maxima: { requests_per_minute: 0, creates_per_minute: 0 },
  })
  return app
}
