import { createHash } from 'node:crypto'
import { v7 as uuidv7 } from 'uuid'
import type { Sandbox } from '../sandbox/sandbox.ts'
import { insertArtifact, readArtifactHashes } from '../store/artifacts.ts'
import type { Lease } from '../store/leases.ts'
import type { WorkerContext } from './execution.ts'
import { LeaseLost, retrying } from './lease-lost.ts'

/** Below the workspace. */
const DIRECTORY = 'artifacts'
const MAX_FILES = 100
const MAX_BYTES = 100 * 1024 ** 2
const MAX_DEPTH = 4
const FIND_MS = 60_000

/** By ending, for what people open most; everything else is bytes. */
const MIME_TYPES: Record<string, string> = {
  csv: 'text/csv',
  html: 'text/html',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  json: 'application/json',
  log: 'text/plain',
  md: 'text/markdown',
  patch: 'text/x-diff',
  pdf: 'application/pdf',
  png: 'image/png',
  svg: 'image/svg+xml',
  txt: 'text/plain',
  webp: 'image/webp',
  xml: 'application/xml',
  zip: 'application/zip',
}

/**
 * Keeps what the agent left in `/workspace/artifacts`: regular files, at most 100 a turn of at most 100 MB, read inside
 * the sandbox. A file that did not change since it was last kept is not kept again. What is over a limit is
 * left out, says the service log, and fails nothing.
 */
export async function collectArtifacts(
  context: WorkerContext,
  lease: Lease,
  sandbox: Sandbox,
  signal: AbortSignal,
): Promise<void> {
  const { store, blobs, watch, log } = context
  // Most turns leave nothing, and a command costs more than all else the end of a turn does.
  if (await sandbox.isEmpty?.(DIRECTORY)) return
  const names = await findFiles(sandbox)
  if (names.length === 0) return
  if (names.length > MAX_FILES) log.warn({ ...lease, files: names.length }, 'Only 100 artifacts were kept.')
  const kept = await retrying(() => readArtifactHashes(store.db, lease.run_id), signal)
  for (const name of names.slice(0, MAX_FILES)) {
    if (signal.aborted) return
    const filepath = name.slice(DIRECTORY.length + 1)
    // Too large, or gone or changed by now: a process of the agent can still be at work.
    const data = await sandbox.readFile(name, { max_bytes: MAX_BYTES }).catch((error: unknown) => {
      log.warn({ ...lease, filepath, err: error }, 'An artifact was not kept.')
      return null
    })
    if (!data) continue
    const sha256 = createHash('sha256').update(data).digest('hex')
    if (kept.get(filepath) === sha256) continue
    const artifact_uid = uuidv7()
    const filename = filepath.split('/').at(-1) ?? filepath
    const mime_type =
      MIME_TYPES[filename.split('.').at(-1)?.toLowerCase() ?? ''] ?? 'application/octet-stream'
    const blob_key = `runs/${lease.run_id}/artifacts/${artifact_uid}`
    const size_bytes = await blobs.put(blob_key, data)
    const artifact_type = /^image\/(png|jpeg|webp)$/.test(mime_type) ? 'SCREENSHOT' : 'FILE'
    const artifact = {
      artifact_uid,
      artifact_type,
      filename,
      filepath,
      mime_type,
      size_bytes,
      sha256,
      blob_key,
    } as const
    if (!(await retrying(() => insertArtifact(store.db, lease, artifact), signal))) throw new LeaseLost()
    watch.touchRun(lease.run_id)
  }
}

async function findFiles(sandbox: Sandbox): Promise<string[]> {
  const { output } = sandbox.exec({
    command: `[ ! -d ${DIRECTORY} ] || exec find ${DIRECTORY} -maxdepth ${MAX_DEPTH} -type f -print0`,
    timeout_ms: FIND_MS,
  })
  const printed: Uint8Array[] = []
  for await (const { stream, data } of output) if (stream === 'stdout') printed.push(data)
  const names = Buffer.concat(printed).toString().split('\0').slice(0, -1)
  // Names that no log line or header should have to carry are the agent's to change.
  return names.filter((name) => !/[\p{Cc}\ufffd]/u.test(name)).sort()
}
