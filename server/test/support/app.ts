import { tmpdir } from 'node:os'
import type { FastifyInstance } from 'fastify'
import { openDiskBlobs } from '../../src/blobs/disk.ts'
import { readConfig } from '../../src/config.ts'
import { LOOP, RUNBOOK } from '../../src/contract/harness-fields.ts'
import { createCheckedFetch } from '../../src/gateway/checked-fetch.ts'
import { createApp } from '../../src/http/app.ts'
import type { HttpSettings } from '../../src/http/context.ts'
import { RunPulls } from '../../src/pulls/run-pulls.ts'
import { openKeyring } from '../../src/sealing/keyring.ts'
import type { Store } from '../../src/store/db.ts'
import { Watch } from '../../src/store/watch.ts'

export const SECRET = 'a secret key of more than thirty-two characters'

export const settingsOf = (secret_key = SECRET): HttpSettings => ({
  public_url: 'http://127.0.0.1',
  downloads_url: 'http://127.0.0.1',
  allowed_hosts: [],
  secret_key,
  keyring: openKeyring(secret_key),
  trust_proxy: false,
  version: '0',
  log_level: 'silent',
  default_pool: 'default',
  harnesses: [LOOP, RUNBOOK],
  whyNeverSent: () => null,
  isGitHub: () => false,
  limit_maxima: readConfig({}).limit_maxima,
  min_schedule_seconds: 10,
  open_runs: { principal: 0, total: 0 },
  request_maxima: { requests_per_minute: 0, creates_per_minute: 0 },
  max_run_files_bytes: 0,
})

/** The HTTP face in this process, on a database that the test has, too. Not listening: `inject` asks it. */
export const openApp = (
  store: Store,
  settings: HttpSettings = settingsOf(),
  watch: Watch = new Watch(store),
): FastifyInstance =>
  createApp({
    ...{ store, watch, settings },
    blobs: openDiskBlobs(tmpdir()),
    pulls: new RunPulls({
      ...{ store, keyring: settings.keyring, git_hosts: {}, git_credential: null },
      fetch: createCheckedFetch({ hosts: [], private_hosts: [] }),
    }),
    readiness: async () => ({
      ready: true,
      database: { kind: store.kind, reachable: true, migrated: true },
    }),
  })
