import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { isDeepStrictEqual } from 'node:util'
import { v7 as uuidv7 } from 'uuid'
import { BlobsFull } from '../blobs/blobs.ts'
import { Changes } from '../contract/diff.ts'
import type { NewEvent } from '../contract/event.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import type { Commits } from '../store/sandboxes.ts'
import { Comparison } from './comparison.ts'
import type { WorkerContext } from './context.ts'
import type { EventWriter } from './event-writer.ts'
import type { FencedStore } from './fenced-store.ts'

interface KeepOptions {
  /** What the repositories of the workspace were cloned at, by their folders. */
  commits: Commits
  /** Names of files are the agent's words. The patch is kept as it is, or it could not be applied. */
  masked: Pick<EventWriter['masked'], 'text'>
  emit: (...events: NewEvent[]) => Promise<void>
  signal: AbortSignal
}

/**
 * Keeps how the workspace's repositories differ from what was cloned, as one patch that `git apply --binary` takes, unless
 * that is what was kept last. What it cannot hold fails nothing: its notes say so. Throws `SandboxFault`.
 */
export async function keepChanges(
  context: WorkerContext,
  store: FencedStore,
  sandbox: Sandbox,
  { commits, masked, emit, signal }: KeepOptions,
): Promise<void> {
  if (Object.keys(commits).length === 0) return
  const { run_id } = store.lease
  const room = context.settings.max_run_files_bytes - (await store.readKeptBytes())
  const comparison = new Comparison(commits, room, masked)
  const parts = comparison.compare(sandbox, signal, (directory, said) =>
    context.log.warn(
      { ...store.lease, directory, said: masked.text(said) },
      'A repository was not compared.',
    ),
  )
  // Most turns change nothing, and a file costs more than all else here.
  const first = await parts.next()
  const last = await store.findDiff()
  if (signal.aborted || (first.done && !last && comparison.notes().length === 0)) return
  const artifact_uid = uuidv7()
  const blob_key = `runs/${run_id}/artifacts/${artifact_uid}`
  const hash = createHash('sha256')
  const patch = async function* () {
    for (let next = first; !next.done; next = await parts.next()) {
      hash.update(next.value)
      yield next.value
    }
  }
  let size_bytes: number
  try {
    size_bytes = await context.blobs.put(blob_key, Readable.from(patch()))
  } catch (error) {
    if (!(error instanceof BlobsFull)) throw error
    const message = `The changes were not kept. ${error.message}`
    return emit({ type: 'error', data: { error_code: 'resource_unavailable', message, retryable: true } })
  }
  const sha256 = hash.digest('hex')
  const changes = comparison.changes()
  const is_kept = last?.sha256 === sha256 && isDeepStrictEqual(Changes.parse(last), changes)
  if (signal.aborted || is_kept) {
    await context.blobs.delete(blob_key)
    return
  }
  const turn = await store.readTurn()
  const filename = `changes-${turn}.patch`
  await store.insertDiff(
    {
      ...{ artifact_uid, artifact_type: 'DIFF', filename, filepath: filename, mime_type: 'text/x-diff' },
      ...{ size_bytes, sha256, blob_key },
    },
    { turn, ...changes },
  )
  context.watch.touchRun(run_id)
}
