import { text } from 'node:stream/consumers'
import type { Blobs } from '../blobs/blobs.ts'

/** Notes are blobs themselves, so every storage can hold them. */
const FOLDER = 'owners'
const IS_ID = /^[0-9a-f-]{36}$/

/** What an installation notes in a storage of blobs. Times are in milliseconds since 1970. */
export interface OwnerNote {
  /** What is older was there before and may be somebody else's. */
  since: number
  /** When it last began to look for what can be removed. */
  cleaned_at: number | null
}

/** This installation's note, made when there is none, and the others that keep files here. */
export async function readOwners(
  blobs: Blobs,
  installation_id: string,
  now: number,
): Promise<{ own: OwnerNote; others: string[] }> {
  let own = await readNote(blobs, installation_id)
  if (!own) {
    own = { since: now, cleaned_at: null }
    await writeNote(blobs, installation_id, own)
  }
  const others: string[] = []
  for await (const { key } of blobs.list(FOLDER)) {
    const name = key.slice(FOLDER.length + 1)
    // A note that is being written has another name for a moment.
    if (name !== installation_id && IS_ID.test(name)) others.push(name)
  }
  return { own, others }
}

export async function writeNote(blobs: Blobs, installation_id: string, note: OwnerNote): Promise<void> {
  await blobs.put(keyOf(installation_id), Buffer.from(JSON.stringify(note)))
}

async function readNote(blobs: Blobs, installation_id: string): Promise<OwnerNote | null> {
  const stored = await blobs.get(keyOf(installation_id))
  return stored && (JSON.parse(await text(stored)) as OwnerNote)
}

const keyOf = (installation_id: string): string => `${FOLDER}/${installation_id}`
