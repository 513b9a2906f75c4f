import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { before, test } from 'node:test'
import { onEitherDatabase } from '../../test/support/databases.ts'
import { openS3Blobs } from '../blobs/s3.ts'
import { createS3Client } from '../blobs/s3-client.ts'
import type { Store } from '../store/db.ts'
import { storeAttachments } from './attachments.ts'

/** Nobody listens there. */
const AWAY = {
  bucket: 'files',
  prefix: '',
  region: 'us-east-1',
  endpoint: 'http://127.0.0.1:1',
  credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
}

onEitherDatabase('attachments', (open) => {
  let store: Store
  before(async () => {
    store = await open()
  })

  test('are refused for now while their storage is away', async () => {
    const services = {
      db: store.db,
      blobs: openS3Blobs(createS3Client(AWAY, 0), AWAY),
      max_run_files_bytes: 1_000,
    }
    const attachments = [{ file_name: 'a.txt', mime_type: 'text/plain', data: 'eA==' }]
    await assert.rejects(storeAttachments(services, randomUUID(), attachments), {
      code: 'resource_unavailable',
      detail: 'The storage of files does not answer, or refuses. Attachments are not taken for now.',
    })
  })
})
