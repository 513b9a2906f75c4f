import { Readable } from 'node:stream'
import { isDeepStrictEqual } from 'node:util'
import { BlobsUnavailable, discardBlob } from '../blobs/blobs.ts'
import { Changes } from '../contract/diff.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import type { Commits } from '../store/sandboxes.ts'
import type { CollectOptions } from './collect-artifacts.ts'
import { Comparison } from './comparison.ts'
import type { WorkerContext } from './context.ts'
import type { FencedStore } from './fenced-store.ts'
import { keepOutsideWork } from './keep-outside-work.ts'
import { putArtifact, type StoredBytes } from './put-artifact.ts'

/** The patch is not masked, or it could not be applied; the names of its files are. */
export interface KeepOptions extends CollectOptions {
  /** What the repositories of the workspace were cloned at, by their folders. */
  commits: Commits
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
  // Each thing that is kept leaves less for the next.
  const readRoom = async () => context.settings.max_run_files_bytes - (await store.readKeptBytes())
  const last = await store.findDiff()
  const outside = { commits, masked, readRoom, last, signal }
  const notes = await keepOutsideWork(context, store, sandbox, outside)
  const compare = async () => {
    const comparison = new Comparison(commits, await readRoom(), masked)
    for (const note of notes) comparison.note(note)
    const parts = comparison.compare(sandbox, signal, (directory, said) =>
      context.log.warn(
        { ...store.lease, directory, said: masked.text(said) },
        'A repository could not be compared, or not all of it.',
      ),
    )
    return { comparison, parts, first: await parts.next() }
  }
  // Most turns change nothing, and a file costs more than all else here.
  let compared = await compare()
  if (signal.aborted || (compared.first.done && !last && compared.comparison.notes().length === 0)) return
  const patch = async function* ({ parts, first }: typeof compared) {
    for (let next = first; !next.done; next = await parts.next()) yield next.value
  }
  let is_read = false
  const open = async () => {
    // A stream cannot be read twice: a second try compares anew.
    if (is_read) compared = await compare()
    is_read = true
    return Readable.from(patch(compared))
  }
  let stored: StoredBytes
  try {
    stored = (await putArtifact(context.plane.blobs, store, open)).stored
  } catch (error) {
    if (!(error instanceof BlobsUnavailable)) throw error
    const message = `The changes were not kept. ${error.message}`
    return emit({ type: 'error', data: { error_code: 'resource_unavailable', message, retryable: true } })
  }
  const changes = compared.comparison.changes()
  const is_kept = last?.sha256 === stored.sha256 && isDeepStrictEqual(Changes.parse(last), changes)
  if (signal.aborted || is_kept) {
    await discardBlob(context.plane.blobs, stored.blob_key)
    return
  }
  const turn = await store.readTurn()
  const filename = `changes-${turn}.patch`
  const file = { artifact_type: 'DIFF', filename, filepath: filename, mime_type: 'text/x-diff' } as const
  await store.insertDiff({ ...stored, ...file }, { turn, ...changes })
  store.touch()
}
