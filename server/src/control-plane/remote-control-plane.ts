import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'
import type { Blobs } from '../blobs/blobs.ts'
import type { Command, Lease } from '../store/leases.ts'
import type { SandboxOwner } from '../store/sandboxes.ts'
import type { SkillRefresh } from '../store/skill-refreshes.ts'
import type { WorkerRegistration } from '../store/workers.ts'
import type { ControlPlane, HeldRefresh, Hints, WorkerName } from '../worker/control-plane.ts'
import type { HeldRun } from '../worker/held-run.ts'
import { fittingModels } from './known-models.ts'
import {
  type Ask,
  askServer,
  ControlPlaneAway,
  deleteFile,
  getFile,
  putFile,
  type RemoteAddress,
} from './remote-calls.ts'
import { planRemoteHeart } from './remote-heart.ts'
import { RemoteHints } from './remote-hints.ts'
import { holdRemotely } from './remote-run.ts'

/** Away for so long, and a worker that stops need not wait for it. */
const AWAY_MS = 2_000
const PROBE_MS = 500

export interface RemoteOptions {
  server: string
  pool_key: string
  version: string
}

/** The control plane's answer to a pool key. */
export interface Welcome {
  installation_id: string
  pool: string
}

/** The control plane of a worker that only dials out: no database, no secret key, no storage of files. */
export class RemoteControlPlane implements ControlPlane {
  readonly #options: RemoteOptions
  /** The token of the life that has begun last. */
  #token: string | null = null
  readonly #ask: Ask
  readonly #hints: RemoteHints
  readonly blobs: Blobs

  constructor(options: RemoteOptions) {
    this.#options = options
    this.#ask = (path, body, more) => askServer(this.#address(), path, body, more) as Promise<never>
    this.#hints = new RemoteHints(this.#ask)
    this.blobs = {
      put: (key, data) =>
        putFile(this.#address(), key, data instanceof Readable ? data : Readable.from([data])),
      get: (key) => getFile(this.#address(), key),
      delete: async (key) => void (await deleteFile(this.#address(), key)),
      list: () => {
        throw new Error('A worker over HTTPS lists no files.')
      },
    }
  }

  get hints(): Hints {
    return this.#hints
  }

  get heart() {
    return planRemoteHeart(this.#address())
  }

  /** With the pool key: who it is that is asked, and whether this version may work for it. */
  welcome(): Promise<Welcome> {
    const { server, pool_key, version } = this.#options
    return askServer({ server, token: pool_key }, 'welcome', { version }) as Promise<Welcome>
  }

  async register({ pool: _pool, ...worker }: WorkerRegistration): Promise<void> {
    const { server, pool_key } = this.#options
    this.#token = `ryw_${randomBytes(32).toString('base64url')}`
    const registration = { ...worker, models: fittingModels(worker.models) }
    await askServer({ server, token: pool_key }, 'enrol', { token: this.#token, worker: registration })
  }

  updateModels(_worker_id: string, models: WorkerRegistration['models']): Promise<void> {
    return this.#ask('models', { models: fittingModels(models) })
  }

  updateAgents(_worker_id: string, lacking: readonly string[]): Promise<void> {
    return this.#ask('agents', { lacking })
  }

  markDisk(_worker_id: string, full: boolean): Promise<void> {
    return this.#ask('disk', { full })
  }

  drain(): Promise<void> {
    return this.#ask('drain', {})
  }

  async retire(): Promise<void> {
    this.#hints.close()
    await this.#ask('retire', {})
  }

  async claim(_worker: WorkerName, n: number): Promise<Lease[]> {
    try {
      return await this.#ask('claim', { n })
    } catch (error) {
      // It may have been committed all the same.
      this.#hints.lookSoon()
      throw error
    }
  }

  readCommands(): Promise<Command[]> {
    return this.#ask('commands', {})
  }

  hold(lease: Lease): HeldRun {
    return holdRemotely(this.#ask, lease)
  }

  async spawnRun(...[{ run_id, attempt }, request, key]: Parameters<NonNullable<ControlPlane['spawnRun']>>) {
    return this.#ask(`runs/${run_id}/${attempt}/spawnRun`, { args: [request, key] })
  }

  async untilAway(signal: AbortSignal): Promise<void> {
    for (let since: number | null = null; ; ) {
      const began = performance.now()
      const answers = await this.#ask('commands', {}, { timeout_ms: AWAY_MS }).then(
        () => true,
        (error: unknown) => !(error instanceof ControlPlaneAway),
      )
      if (signal.aborted) return new Promise(() => {})
      since = answers ? null : (since ?? began)
      if (since !== null && performance.now() - since >= AWAY_MS) return
      await wait(PROBE_MS, undefined, { ref: false })
    }
  }

  takeExpiredSandboxes(_worker_id: string, place: string, keep: number) {
    return this.#ask('expired-sandboxes', { place, keep })
  }

  readSandboxOwners(_worker_id: string, names: readonly string[]): Promise<Map<string, SandboxOwner>> {
    return this.#ask('sandbox-owners', { names })
  }

  findLivingWorkers(_worker_id: string, worker_ids: readonly string[]): Promise<Set<string>> {
    return this.#ask('living-workers', { worker_ids })
  }

  claimRefresh(): Promise<SkillRefresh | null> {
    return this.#ask('refreshes/claim', {})
  }

  holdRefresh(_worker: WorkerName, refresh: SkillRefresh): HeldRefresh {
    const ask = (what: string, more: object = {}) => this.#ask(`refreshes/${what}`, { refresh, ...more })
    return {
      findEnvironment: () => ask('environment'),
      useSecrets: () => ask('secrets'),
      recordSkills: ({ last_updated }, found) => ask('record', { last_updated, found }),
      end: (problem) => ask('end', { problem }),
      release: () => ask('release'),
    }
  }

  #address(): RemoteAddress {
    if (this.#token === null) throw new Error('The worker is not enrolled.')
    return { server: this.#options.server, token: this.#token }
  }
}
