/** A worker within the test's own process, on a real store and a real sandbox backend, its harnesses given by the test. */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openDiskBlobs } from '../../src/blobs/disk.ts'
import { readDiskSpace } from '../../src/blobs/disk-space.ts'
import { readConfig } from '../../src/config.ts'
import { StoredControlPlane } from '../../src/control-plane/stored-control-plane.ts'
import { openGateway } from '../../src/gateway/open-gateway.ts'
import type { Harness } from '../../src/harness/harness.ts'
import { TOOLS } from '../../src/harness/tools/toolset.ts'
import { openBubblewrap } from '../../src/sandbox/bubblewrap.ts'
import type { SandboxBackend } from '../../src/sandbox/sandbox.ts'
import { openKeyring } from '../../src/sealing/keyring.ts'
import type { Store } from '../../src/store/db.ts'
import { readInstallation } from '../../src/store/installation.ts'
import { Watch } from '../../src/store/watch.ts'
import { createDiskGuard } from '../../src/worker/disk-guard.ts'
import { startWorker } from '../../src/worker/worker.ts'
import { temporaryDirectory } from './service.ts'

const GiB = 1024 ** 3
const GATEWAY = fileURLToPath(new URL('../../src/gateway-process.ts', import.meta.url))

export interface TestWorker {
  worker_id: string
  data_dir: string
  /** What it said so far. */
  log: Array<{ message: string; fields: object }>
  said(message: RegExp): boolean
  stop(): Promise<void>
}

export interface TestWorkerOptions {
  store: Store
  pool: string
  harnesses: Harness[]
  /** Called with what the worker says, as it says it. */
  onLog?: (message: string) => void
  /** Default: a directory of its own. */
  data_dir?: string
  min_free_percent?: number
  /** What the worker uses in place of the backend. */
  wrap?: (backend: SandboxBackend) => SandboxBackend
}

export async function openTestWorker(options: TestWorkerOptions): Promise<TestWorker> {
  const { store, pool, harnesses, wrap = (backend) => backend } = options
  const { data_dir = temporaryDirectory('worker'), min_free_percent = 0 } = options
  const watch = new Watch(store)
  await watch.start()
  const log: TestWorker['log'] = []
  const say = (fields: object, message: string) => {
    log.push({ message, fields })
    options.onLog?.(message)
  }
  const logger = { info: say, warn: say, error: say }
  const [first] = harnesses
  if (!first) throw new Error('A worker needs a harness.')
  const installation_id = await readInstallation(store.db)
  const gateway = openGateway(GATEWAY, logger)
  const worker = await startWorker(
    {
      plane: new StoredControlPlane({
        ...{ store, watch, blobs: openDiskBlobs(join(data_dir, 'blobs')) },
        seal_key: openKeyring('a secret key of tests'),
      }),
      backend: wrap(await openBubblewrap({ data_dir, installation_id })),
      openFormerBackends: async () => [],
      harnesses: new Map(harnesses.map((harness) => [harness.traits.name, harness])),
      default_harness: first.traits.name,
      tools: TOOLS,
      gateway,
      disk: createDiskGuard({
        readSpace: async () => ({ data: await readDiskSpace(data_dir), sandboxes: null }),
        min_free_percent,
        log: logger,
      }),
      log: logger,
      settings: {
        version: '0.0.0',
        pool,
        place: data_dir,
        slots: 4,
        grace_ms: 0,
        max_idle: 4,
        warm: 0,
        egress: 'none',
        private_hosts: [],
        git_hosts: {},
        costOf: () => undefined,
        models: {},
        images: { patterns: [], local: false },
        limit_maxima: readConfig({}).limit_maxima,
        max_run_files_bytes: GiB,
        snapshots: { max_bytes: GiB, every_ms: 60_000, turns: 10 },
        prepared: { max_bytes: GiB },
        data_dir,
      },
    },
    {
      readModels: async () => ({ models: [] }),
      findLackingAgents: () => [],
      // This process is the one that could be lost.
      openWarden: async () => ({ watch() {}, unwatch() {}, close: async () => {} }),
    },
  )
  return {
    worker_id: worker.worker_id,
    data_dir,
    log,
    said: (message) => log.some((line) => message.test(line.message)),
    async stop() {
      await worker.stop()
      await gateway.close()
      await watch.close()
    },
  }
}
