import { BlobsUnavailable, discardBlob } from '../blobs/blobs.ts'
import type { NewEvent } from '../contract/event.ts'
import { collectExec, type Sandbox, SandboxFault, SandboxFileError } from '../sandbox/sandbox.ts'
import { readContentType } from './content-type.ts'
import type { WorkerContext } from './context.ts'
import type { EventWriter } from './event-writer.ts'
import type { FencedStore } from './fenced-store.ts'
import { putArtifact } from './put-artifact.ts'

/** Below the workspace. */
const DIRECTORY = 'artifacts'
/** Below it: long outputs of tools, which the agent did not choose to leave. */
const OUTPUTS = `${DIRECTORY}/tool-output/`
const MAX_FILES = 100
const MiB = 1024 ** 2
const MAX_BYTES = 100 * MiB
const MAX_DEPTH = 4
const FIND_MS = 60_000
const FIND_BYTES = 512 * 1024
/** Names of files that were not kept, in an event. */
const SHOWN = 10

export interface CollectOptions {
  /** Names of files are the agent's words, too. */
  masked: Pick<EventWriter['masked'], 'text'>
  emit: (...events: NewEvent[]) => Promise<void>
  signal: AbortSignal
}

/**
 * Keeps what the agent left in `/workspace/artifacts`: regular files, at most 100 a turn of at most 100 MB, read inside
 * the sandbox, as long as the run keeps no more than its share; and as many outputs of tools, of which others are left out
 * without a word. A file that did not change since it was last kept is not
 * kept again. What is left out fails nothing: an `error` event names it. Throws `SandboxFault`.
 */
export async function collectArtifacts(
  context: WorkerContext,
  store: FencedStore,
  sandbox: Sandbox,
  { emit, signal, masked }: CollectOptions,
): Promise<void> {
  const { log, settings } = context
  // Most turns leave nothing, and a command costs more than all else the end of a turn does.
  if (await sandbox.isEmpty?.(DIRECTORY)) return
  const names = await findFiles(sandbox)
  if (names.length === 0) return
  const known = await store.readArtifactHashes()
  let room = settings.max_run_files_bytes - (await store.readKeptBytes())
  const outputs = names.filter((name) => name.startsWith(OUTPUTS) && !known.has(masked.text(relative(name))))
  const files = names.filter((name) => !name.startsWith(OUTPUTS))
  const left_out = files.slice(MAX_FILES).map((name) => `${relative(name)}: a turn keeps ${MAX_FILES} files`)
  let full: BlobsUnavailable | null = null
  for (const name of [...files.slice(0, MAX_FILES), ...outputs.slice(0, MAX_FILES)]) {
    if (signal.aborted) return
    if (full) {
      // One that was kept before may be what it was: nobody looks while the storage is away.
      const changed = known.has(masked.text(relative(name))) ? ', if it changed' : ''
      left_out.push(`${relative(name)}${changed}: ${full.message}`)
      continue
    }
    try {
      room -= await keep(context, store, sandbox, {
        name,
        filepath: masked.text(relative(name)),
        known,
        room,
      })
    } catch (error) {
      if (error instanceof BlobsUnavailable) full = error
      else if (!(error instanceof SandboxFileError)) throw error
      log.warn(
        { ...store.lease, filepath: masked.text(relative(name)), err: error },
        'An artifact was not kept.',
      )
      // Gone or changed by now: a process of the agent can still be at work.
      if (error instanceof SandboxFileError && error.code !== 'EFBIG') continue
      left_out.push(`${relative(name)}: ${full?.message ?? tooLarge(room, settings.max_run_files_bytes)}`)
    }
  }
  if (left_out.length > 0) await emit(describe(left_out, full !== null))
}

/** Stores one file with its row; returns the bytes that the run keeps more than before. */
async function keep(
  { plane: { blobs } }: WorkerContext,
  store: FencedStore,
  sandbox: Sandbox,
  file: { name: string; filepath: string; known: ReadonlyMap<string, string>; room: number },
): Promise<number> {
  const { filepath } = file
  // What is kept already needs no room, unless it changed.
  const max_bytes = file.known.has(filepath) ? MAX_BYTES : Math.max(0, Math.min(MAX_BYTES, file.room))
  const { stored, head } = await putArtifact(blobs, store, () => sandbox.openFile(file.name, { max_bytes }))
  const { blob_key, size_bytes, sha256 } = stored
  if (file.known.get(filepath) === sha256) {
    await discardBlob(blobs, blob_key)
    return 0
  }
  if (size_bytes > file.room) {
    await discardBlob(blobs, blob_key)
    throw new SandboxFileError('EFBIG', `EFBIG: ${file.name}`)
  }
  const filename = filepath.split('/').at(-1) ?? filepath
  const mime_type = await readContentType(head, filename)
  const artifact_type = /^image\/(png|jpeg|webp)$/.test(mime_type) ? 'SCREENSHOT' : 'FILE'
  await store.insertArtifact({ ...stored, artifact_type, filename, filepath, mime_type })
  store.touch()
  return size_bytes
}

const relative = (name: string): string => name.slice(DIRECTORY.length + 1)

const tooLarge = (room: number, run_bytes: number): string =>
  room >= MAX_BYTES ? `larger than ${MAX_BYTES / MiB} MiB` : `a run keeps ${run_bytes / MiB} MiB of files`

/** The run goes on; whoever reads its log sees what is missing. */
function describe(left_out: readonly string[], full: boolean): NewEvent {
  const shown = left_out.slice(0, SHOWN).join('; ')
  const more = left_out.length > SHOWN ? `; and ${left_out.length - SHOWN} more` : ''
  return {
    type: 'error',
    data: {
      error_code: full ? 'resource_unavailable' : 'budget_exceeded',
      message: `Artifacts were not kept. ${shown}${more}`,
      retryable: full,
    },
  }
}

/** Their paths below the workspace; of a flood of files only so many as can be told. */
async function findFiles(sandbox: Sandbox): Promise<string[]> {
  const { exit, stdout } = await collectExec(
    sandbox.exec({
      command: `[ ! -d ${DIRECTORY} ] || find ${DIRECTORY} -maxdepth ${MAX_DEPTH} -type f -print0 | head -c ${FIND_BYTES}`,
      timeout_ms: FIND_MS,
    }),
  )
  // What failed to run has printed nothing, which looks like an empty folder.
  const { code, signal, timed_out } = exit
  if (code !== 0)
    throw new SandboxFault(`Looking for artifacts ended with ${timed_out ? 'a timeout' : (code ?? signal)}.`)
  const names = stdout.toString().split('\0').slice(0, -1)
  // Names that no log line or header should have to carry are the agent's to change.
  return names.filter((name) => !/[\p{Cc}\ufffd]/u.test(name)).sort()
}
