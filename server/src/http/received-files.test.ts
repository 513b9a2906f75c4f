import assert from 'node:assert/strict'
import { test } from 'node:test'
import { temporaryDirectory } from '../../test/support/leftovers.ts'
import { openDiskBlobs } from '../blobs/disk.ts'
import { ReceivedFiles } from './received-files.ts'

test('a caller who leaves in the middle of an attachment is no fault of the storage', async () => {
  const files = new ReceivedFiles(openDiskBlobs(temporaryDirectory('received')))
  const sink = files.receive(0)
  await sink.write('QUJD')
  await files.close()
  const brokenOff = { status: 400, detail: 'The request was broken off.' }
  await assert.rejects(sink.write('QUJD'), brokenOff)
  await assert.rejects(sink.end(), brokenOff)
})
