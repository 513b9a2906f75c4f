import { createHash } from 'node:crypto'
import { v7 as uuidv7 } from 'uuid'
import type { Sandbox } from '../sandbox/sandbox.ts'
import { insertArtifact, readArtifactHashes } from '../store/artifacts.ts'
import type { Lease } from '../store/leases.ts'
import type { WorkerContext } from './execution.ts'
import { LeaseLost, retrying } from './lease-lost.ts'

const DIRECTORY = '/workspace/artifacts'
const MAX_FILES = 100
const MAX_BYTES = 100 * 1024 ** 2
const MAX_DEPTH = 4

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
  const files = await findFiles(sandbox, DIRECTORY, MAX_DEPTH)
  if (files.length === 0) return
  const kept = await retrying(() => readArtifactHashes(store.db, lease.run_id), signal)
  for (const { path, size } of files.slice(0, MAX_FILES)) {
    if (signal.aborted) return
    const filepath = path.slice(DIRECTORY.length + 1)
    if (size > MAX_BYTES) {
      log.warn({ ...lease, filepath, size }, 'An artifact is over 100 MB and was not kept.')
      continue
    }
    // It may be gone or changed by now: a process of the agent can still be at work.
    const data = await sandbox.readFile(path, { max_bytes: MAX_BYTES }).catch(() => null)
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

async function findFiles(
  sandbox: Sandbox,
  directory: string,
  depth: number,
): Promise<Array<{ path: string; size: number }>> {
  const found: Array<{ path: string; size: number }> = []
  const entries = await sandbox.listDirectory(directory).catch(() => [])
  for (const { name, type } of entries) {
    if (found.length >= MAX_FILES) break
    // Names that no log line or header should have to carry are the agent's to change.
    if (/\p{Cc}/u.test(name) || !name.isWellFormed()) continue
    const path = `${directory}/${name}`
    if (type === 'directory' && depth > 1) found.push(...(await findFiles(sandbox, path, depth - 1)))
    if (type !== 'file') continue
    const stat = await sandbox.stat(path)
    if (stat?.type === 'file') found.push({ path, size: stat.size })
  }
  return found
}
