import { text } from 'node:stream/consumers'
import { v7 as uuidv7 } from 'uuid'
import type { Blobs } from '../blobs/blobs.ts'
import type { DeletedRun } from '../store/purge.ts'

/**
 * The list of deleted runs as it is kept beside the database: files with a line for each run, which are only ever added. A
 * restored database does not know those that were written after its backup.
 */
const folderOf = (installation_id: string): string => `deleted/${installation_id}`
const IS_NAME = /^[0-9a-f-]{36}$/

export interface DeletionNote {
  name: string
  bytes: number
}

/** The name of the new list. */
export async function writeNote(
  blobs: Blobs,
  installation_id: string,
  entries: readonly DeletedRun[],
): Promise<string> {
  const name = uuidv7()
  const lines = entries.map((entry) => `${JSON.stringify(entry)}\n`).join('')
  await blobs.put(`${folderOf(installation_id)}/${name}`, Buffer.from(lines))
  return name
}

export async function listNotes(blobs: Blobs, installation_id: string): Promise<DeletionNote[]> {
  const folder = folderOf(installation_id)
  const found: DeletionNote[] = []
  for await (const { key, bytes = 0 } of blobs.list(folder)) {
    const name = key.slice(folder.length + 1)
    // One that is being written has another name for a moment.
    if (IS_NAME.test(name)) found.push({ name, bytes })
  }
  return found
}

/** Empty where it is gone: another process has merged it into another one. */
export async function readNote(blobs: Blobs, installation_id: string, name: string): Promise<DeletedRun[]> {
  const stored = await blobs.get(`${folderOf(installation_id)}/${name}`)
  if (!stored) return []
  return (await text(stored))
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as DeletedRun)
}

export const deleteNote = (blobs: Blobs, installation_id: string, name: string): Promise<void> =>
  blobs.delete(`${folderOf(installation_id)}/${name}`)
