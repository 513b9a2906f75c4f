/** Runs in any state without a sandbox: what a worker would write of them, in the same words of the store. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import type { Blobs } from '../../src/blobs/blobs.ts'
import type { NewEvent } from '../../src/contract/event.ts'
import { insertArtifact } from '../../src/store/artifacts.ts'
import type { Store } from '../../src/store/db.ts'
import { appendEvents } from '../../src/store/events.ts'
import { claimRuns, type Lease, releaseRun } from '../../src/store/leases.ts'
import { type Ending, finishRun, startRun } from '../../src/store/transitions.ts'
import type { Watch } from '../../src/store/watch.ts'
import { readContentType } from '../../src/worker/content-type.ts'
import { putArtifactOnce } from '../../src/worker/put-artifact.ts'
import { addWorker } from './stored.ts'

/** Characters. */
const PIECE = 64_000

interface Rooms {
  store: Store
  watch: Watch
  blobs: Blobs
}

/** A worker that is a row: it claims nothing by itself, and is there from its first run on. Default: of a pool of its own. */
export class RowWorker {
  readonly worker_id = randomUUID()
  readonly pool: string
  readonly #rooms: Rooms
  readonly #slots: number
  #registered: Promise<unknown> | undefined
  #batch = 0

  constructor(rooms: Rooms, { pool = randomUUID() as string, slots = 8 } = {}) {
    this.#rooms = rooms
    this.pool = pool
    this.#slots = slots
  }

  async register(): Promise<void> {
    const { worker_id, pool } = this
    this.#registered ??= addWorker(this.#rooms.store.db, { worker_id, pool, slots: this.#slots })
    await this.#registered
  }

  /** Claims the run, which waits in the worker's pool. */
  async take(run_id: string): Promise<Lease> {
    await this.register()
    const [lease, ...more] = await claimRuns(this.#rooms.store.db, this, 1)
    assert.deepEqual([lease?.run_id, more], [run_id, []], 'Another run waits before it.')
    assert(lease)
    this.#rooms.watch.touchRun(run_id)
    return lease
  }

  /** INPROGRESS. */
  async start(run_id: string): Promise<Lease> {
    const lease = await this.take(run_id)
    assert(await startRun(this.#rooms.store.db, lease, { harness: 'runbook' }))
    this.#rooms.watch.touchRun(run_id)
    return lease
  }

  /** In order; output, what was said, or whatever else its agent does. */
  async append(lease: Lease, events: NewEvent[]): Promise<void> {
    this.#batch += 1
    assert.notEqual(await appendEvents(this.#rooms.store.db, lease, this.#batch, events), 'lost')
    this.#rooms.watch.touchRun(lease.run_id)
  }

  /** A command that printed this, in pieces as they come from a pipe, and ended well. */
  async print(lease: Lease, command: string, text: string): Promise<void> {
    const tool_call_id = randomUUID()
    const pieces = Array.from({ length: Math.ceil(text.length / PIECE) }, (_, at) =>
      text.slice(at * PIECE, (at + 1) * PIECE),
    )
    await this.append(lease, [
      { type: 'tool.call', data: { tool_call_id, name: 'bash', input: { command } } },
      ...pieces.map(
        (piece): NewEvent => ({
          type: 'tool.output',
          data: { tool_call_id, stream: 'stdout', text: piece },
        }),
      ),
      { type: 'tool.result', data: { tool_call_id, is_error: false, exit_code: 0 } },
    ])
  }

  /** Keeps a file as an artifact. */
  async keep(lease: Lease, filepath: string, bytes: string | Uint8Array): Promise<string> {
    const { store, blobs } = this.#rooms
    const data = Readable.from([Buffer.from(bytes)])
    const { stored, head } = await putArtifactOnce(blobs, lease.run_id, data)
    const filename = filepath.split('/').at(-1) ?? filepath
    const mime_type = await readContentType(head, filename)
    const artifact_type = mime_type.startsWith('image/') ? 'SCREENSHOT' : 'FILE'
    const row = { ...stored, artifact_type, filename, filepath, mime_type } as const
    assert(await insertArtifact(store.db, lease, row))
    return stored.artifact_uid
  }

  /** Ends the run and lets go of it. */
  async end(lease: Lease, ending: Ending = { state: 'SUCCEEDED' }): Promise<void> {
    const { store, watch } = this.#rooms
    assert.equal(await finishRun(store.db, lease, ending), 'finished')
    await this.release(lease)
    watch.touchRun(lease.run_id)
  }

  /** Ends the run with a question, and lets go of it; the question's id. */
  async ask(lease: Lease): Promise<string> {
    const [approval_id, tool_call_id] = [randomUUID(), randomUUID()]
    await this.append(lease, [
      { type: 'tool.call', data: { tool_call_id, name: 'bash', input: { command: 'true' } } },
      {
        type: 'approval.requested',
        data: { approval_id, tool_call_id, tool: 'bash', rule: { tool: 'bash', action: 'ask' } },
      },
    ])
    const approval = { approval_id, tool_call_id, tool: 'bash' }
    const status_message = { message: 'It asks.', retryable: false, approval }
    await this.end(lease, { state: 'BLOCKED', status_message })
    return approval_id
  }

  async release(lease: Lease): Promise<void> {
    assert((await releaseRun(this.#rooms.store.db, lease)).released)
    this.#rooms.watch.touchRun(lease.run_id)
  }

  /** A whole run that left these files: their names and what is in them. */
  async run(run_id: string, files: Record<string, string | Uint8Array> = {}): Promise<void> {
    const lease = await this.start(run_id)
    for (const [filepath, bytes] of Object.entries(files)) await this.keep(lease, filepath, bytes)
    await this.end(lease)
  }
}
