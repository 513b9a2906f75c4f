import { Readable } from 'node:stream'
import { BlobsUnavailable } from '../blobs/blobs.ts'
import type { Changes } from '../contract/diff.ts'
import { type Sandbox, SandboxFault } from '../sandbox/sandbox.ts'
import type { Commits } from '../store/sandboxes.ts'
import type { WorkerContext } from './context.ts'
import type { EventWriter } from './event-writer.ts'
import type { FencedStore } from './fenced-store.ts'
import { BundleTooLarge, bundleOutsideWork, findOutsideWork, type OutsideWork } from './outside-work.ts'
import { putArtifact } from './put-artifact.ts'

const MiB = 1024 ** 2
const MAX_BYTES = 100 * MiB

const NOT_WHOLE =
  'Work on other branches, in stashes and in worktrees could not be looked at in full: there may be more than is named here.'

interface KeepOptions {
  commits: Commits
  masked: Pick<EventWriter['masked'], 'text'>
  /** Bytes that the run may still keep. */
  readRoom: () => Promise<number>
  /** What was kept last. */
  last: Pick<Changes, 'notes'> | null
  signal: AbortSignal
}

/**
 * Keeps what repositories hold that their patch does not, a bundle for each, unless that is what was kept last; gives back what is
 * to be said of it. What cannot be kept fails nothing. Throws `SandboxFault` where the sandbox itself is at fault.
 */
export async function keepOutsideWork(
  context: WorkerContext,
  store: FencedStore,
  sandbox: Sandbox,
  options: KeepOptions,
): Promise<string[]> {
  const { commits, masked, last, signal } = options
  const notes: string[] = []
  const { works, is_whole } = await findOutsideWork(sandbox, commits, signal)
  if (!is_whole && !signal.aborted) notes.push(NOT_WHOLE)
  for (const work of works) {
    if (signal.aborted) break
    const named = masked.text(`Work in ${work.directory} that is not in the patch: ${work.parts.join(', ')}.`)
    const known = last?.notes.find((note) => note.startsWith(named))
    notes.push(known ?? `${named} ${await keep(context, store, sandbox, work, options)}`)
  }
  return notes
}

/** What became of it, as a sentence. */
async function keep(
  { plane: { blobs }, log }: WorkerContext,
  store: FencedStore,
  sandbox: Sandbox,
  work: OutsideWork,
  { readRoom, signal }: KeepOptions,
): Promise<string> {
  const filename = `${work.directory}-${await store.readTurn()}.bundle`
  const max_bytes = Math.max(0, Math.min(MAX_BYTES, await readRoom()))
  try {
    const open = () => Readable.from(bundleOutsideWork(sandbox, work, { max_bytes, signal }))
    const { stored } = await putArtifact(blobs, store, open)
    const file = { filename, filepath: filename, mime_type: 'application/x-git-bundle' }
    await store.insertArtifact({ ...stored, ...file, artifact_type: 'FILE' })
    store.touch()
    return `The artifact ${filename} has it: git fetch ${filename} 'refs/*:refs/kept/*'`
  } catch (error) {
    if (error instanceof BundleTooLarge)
      return `It is too large to be kept: a bundle has up to ${MAX_BYTES / MiB} MiB, within what the run may keep.`
    if (!(error instanceof BlobsUnavailable || error instanceof SandboxFault)) throw error
    log.warn(
      { err: error, ...store.lease, directory: work.directory },
      'Work outside of a patch was not kept.',
    )
    return 'It could not be kept.'
  }
}
